"""A row that cannot be read takes no page down: each names it, and shows the rest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import product

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.values.messages import Usage
from conductor.workflow.plan_report import PlanReport

PAGES = ("workbench", "sessions", "usage", "evaluation", "learning")

DAMAGED = {
    "a session's state": ("sessions", "state = 'of the future'"),
    "a session's settings": ("sessions", "settings = '{'"),
    "a plan's usage": ("plans", "usage = '{'"),
    "a plan's report": ("plans", "report = 'null and void'"),
    "a workflow": ("revisions", "workflow = '{'"),
    "an event": ("events", "event = '{'"),
    "an evaluation": ("evaluations", "spec = '{'"),
}


NAMED = {
    ("workbench", "a session's state"): ("SessionSummary", "state"),
    ("sessions", "a session's state"): ("SessionSummary", "state"),
    ("evaluation", "an evaluation"): ("Evaluation",),
}
"""What a page names of a row that it would show; other rows are none of its."""


@pytest.mark.parametrize("place", list(product(PAGES, DAMAGED)), ids=" ".join)
def test_a_page_names_what_it_leaves_out(app, bench, url, session, place):
    page, row = place
    for query in ("Other?", "Bad?"):
        id = bench.ask(query).id
        usage = Usage(prompt_tokens=1, completion_tokens=2)
        bench.store.plans.add(
            id, planner="c", planner_kind="model", report=PlanReport(text="a plan"), usage=usage
        )
        bench.editing.edit(id, bench.store.revisions.head(session).workflow, note="By hand")
        bench.running.start(id)
        bench.activities.wait(id)
        spec = EvaluationSpec(data=query, digest="", planners=("p",))
        evaluation = bench.store.evaluations.add(spec, [Item(id="a", input="q", target=("t",))]).id
    table, change = DAMAGED[row]
    run = bench.store.runs.of_session(id)[0].id
    [(column, value)] = {
        "sessions": [("id", id)],
        "evaluations": [("id", evaluation)],
        "events": [("run", run)],
    }.get(table, [("session", id)])
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as other, other:
        assert other.execute(f"UPDATE {table} SET {change} WHERE {column} = ?", (value,)).rowcount
    view = app(page)
    assert not view.exception
    assert not view.error
    left_out = [warning.value for warning in view.warning if warning.value.startswith("Left out")]
    assert all(word in " ".join(left_out) for word in NAMED.get(place, ()))
    assert bool(left_out) == (place in NAMED)
    if page == "sessions":
        listed = {button.key for button in view.button}
        assert f"open-{session}" in listed
        assert (f"open-{id}" in listed) == (row != "a session's state")
