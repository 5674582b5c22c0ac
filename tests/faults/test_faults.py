"""Killed at any moment, the store has all that was acknowledged and nothing by halves.

A few kills of each kind; `python -m tests.faults` does two hundred, some of them of the app in a browser.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult
from conductor.runs.events import EVENT, Event, StepFinished
from storage import SessionStore
from tests.faults import edits, runs
from tests.faults.crowd import losses
from tests.faults.edits import Edits, follows, whole
from tests.faults.evaluations import KilledEvaluations
from tests.faults.harness import Kind
from tests.faults.imports import Imports
from tests.faults.ledger import Ledger
from tests.faults.migrations import Migrations
from tests.faults.runs import Runs
from tests.faults.victim import Say, Work, killed

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


def after(kind: Kind, kills: int, *, unfinished: int = 0) -> Ledger:
    """So many kills, and more until something was acknowledged and so much is unfinished."""
    rng = Random(7)
    ledger = kind.ledger
    try:
        while ledger.kills < kills or not ledger.checked or ledger.unfinished < unfinished:
            assert ledger.kills < 50, (
                "every process was killed before it had done anything, or after all of it"
            )
            kind.kill(rng)
    finally:
        kind.finish()
    return kind.ledger


def test_a_killed_run_keeps_its_events_and_goes_on_from_its_finished_steps(tmp_path: Path) -> None:
    assert after(Runs(tmp_path), 4, unfinished=1).losses == []


def test_a_killed_evaluation_goes_on_without_a_call_made_again_and_ends_as_one_that_was_not(
    tmp_path: Path,
) -> None:
    assert after(KilledEvaluations(tmp_path), 3, unfinished=1).losses == []


def test_an_edit_that_was_acknowledged_outlives_a_kill_and_no_other_is_half_done(tmp_path: Path) -> None:
    assert after(Edits(tmp_path), 4).losses == []


def test_a_killed_import_leaves_all_sessions_of_its_file_or_none(tmp_path: Path) -> None:
    assert after(Imports(tmp_path), 3).losses == []


def test_a_killed_migration_leaves_the_old_store_or_the_new_one(tmp_path: Path) -> None:
    assert after(Migrations(tmp_path, revisions=1000), 4).losses == []


def test_no_run_of_a_crowd_that_is_killed_had_called_a_worker_after_an_output_that_is_lost(
    tmp_path: Path,
) -> None:
    total = losses(f"sqlite:///{tmp_path / 'crowd.db'}", runs=100, kills=3, seed=7)
    assert total.kills == 3
    assert total.ended > 0
    assert total.overtaken == 0


# -- the harness itself: what it is for, it notices --------------------------------------------------


def forgetful_edits(say: Say, url: str, _seed: int) -> None:
    """Store one revision and acknowledge two."""
    say(asks={"does": "ask"})
    with SessionStore.open(url) as store:
        session = store.sessions.create("q").id
        store.revisions.add(session, edits.workflow(1), origin="human")
        held = edits.shape_of(store, session)
    workflow = edits.workflow(2).model_dump(mode="json")
    revision = {"id": "b", "number": 2, "parent": held["session"]["head"], "workflow": workflow}
    say(holds=held)
    say(asks={"does": "edit", "session": session, "workflow": workflow})
    say(holds={"session": {**held["session"], "head": "b"}, "revisions": [*held["revisions"], revision]})
    threading.Event().wait()


class Forgetful(runs.Acknowledging):
    """A journal that stores no output."""

    def append(self, event: Event) -> Future[None]:
        if not isinstance(event, StepFinished):
            return super().append(event)
        self.say(event=EVENT.dump_python(event, mode="json"))
        done: Future[None] = Future()
        done.set_result(None)
        return done


def forgetful_runs(say: Say, url: str, pool: str, seed: int) -> None:
    """Run on without keeping what the steps gave."""
    runs.work(say, url, pool, seed, journal=Forgetful)


def idle_edits(say: Say, url: str, _seed: int) -> None:
    """Acknowledge an edit, with a session that it did not change."""
    say(asks={"does": "ask"})
    with SessionStore.open(url) as store:
        held = edits.shape_of(store, store.sessions.create("q").id)
    say(holds=held)
    say(asks={"does": "rename", "session": held["session"]["id"], "title": "another"})
    say(holds=held)
    threading.Event().wait()


def forgetful_evaluation(say: Say, url: str, _pool: str, evaluation: str) -> None:
    """Acknowledge a cell that was never stored."""
    with SessionStore.open(url):
        result = CellResult(score=Score(verdict="right"))
        cell = Cell(item=0, planner="worker:model-0", repeat=0, session="s", result=result)
        say(cells=[cell.model_dump(mode="json")])
    threading.Event().wait()


@pytest.mark.parametrize(
    ("make", "work", "printed"),
    [
        (Edits, forgetful_edits, "is neither as it was left nor one change further"),
        (Edits, idle_edits, "was not changed when the workbench said so"),
        (partial(Runs, span=3.0), forgetful_runs, "an output of the run .* is lost"),
        (KilledEvaluations, forgetful_evaluation, "a cell of worker:model-0 is lost"),
    ],
    ids=["a revision", "a name", "an output", "a cell"],
)
def test_what_was_acknowledged_and_is_not_there_is_a_loss(
    tmp_path: Path, make: Callable[..., Kind], work: Work, printed: str
) -> None:
    kind, rng = make(tmp_path, work), Random(7)
    try:
        while not kind.ledger.losses:
            assert kind.ledger.kills < 50, "nothing was found to be lost"
            kind.kill(rng)
            # A busy machine may take long to get as far as the loss.
            kind.ledger.wait_longer()
    finally:
        kind.finish()
    assert any(re.search(printed, loss) for loss in kind.ledger.losses)


def shape(*revisions: tuple[str, str | None], head: str | None, **fields: Any) -> dict[str, Any]:
    steps = {"steps": ["a step"]}
    rows = [
        {"id": id, "number": number, "parent": parent, "workflow": steps}
        for number, (id, parent) in enumerate(revisions, start=1)
    ]
    return {"session": {"head": head, "title": "t", "deleted_at": None, **fields}, "revisions": rows}


FIRST = shape(("a", None), head="a")
SECOND = shape(("a", None), ("b", "a"), head="b")


@pytest.mark.parametrize(
    ("before", "after", "change", "true"),
    [
        (FIRST, SECOND, {"does": "edit", "workflow": {"steps": ["a step"]}}, True),
        (FIRST, SECOND, {"does": "edit", "workflow": {"steps": ["another"]}}, False),
        (
            FIRST,
            shape(("a", None), ("b", "a"), head="a"),
            {"does": "edit", "workflow": {"steps": ["a step"]}},
            False,
        ),
        (FIRST, SECOND, {"does": "undo"}, False),
        (SECOND, shape(("a", None), ("b", "a"), head="a"), {"does": "undo"}, True),
        (SECOND, FIRST, {"does": "undo"}, False),
        (shape(("a", None), ("b", "a"), head="a"), SECOND, {"does": "redo"}, True),
        (FIRST, shape(("a", None), head="a", title="u"), {"does": "rename", "title": "u"}, True),
        (FIRST, shape(("a", None), head="a", title="v"), {"does": "rename", "title": "u"}, False),
        (FIRST, shape(("a", None), head="a", deleted_at=1.0), {"does": "delete"}, True),
        (FIRST, shape(("a", None), head="a", deleted_at=1.0, title="u"), {"does": "delete"}, False),
    ],
)
def test_a_change_came_true_whole_or_not_at_all(
    before: dict[str, Any], after: dict[str, Any], change: dict[str, Any], true: bool
) -> None:
    assert follows(before, after, change) == true


@pytest.mark.parametrize(
    ("history", "true"),
    [
        (SECOND, True),
        (shape(head=None), True),
        (shape(("a", None), head="b"), False),
        (shape(("b", "a"), ("a", None), head="a"), False),
    ],
    ids=["whole", "new", "a head without a revision", "a child before its parent"],
)
def test_half_a_revision_is_distinguished_from_a_whole_one(history: dict[str, Any], true: bool) -> None:
    assert whole(history) == true


def begin_only(say: Say) -> None:
    """Do nothing but that."""
    say(here=True)
    threading.Event().wait()


def test_a_process_begins_whatever_script_this_one_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ModuleType("__main__")
    script.__file__ = str(tmp_path / "page.py")
    Path(script.__file__).write_text("raise NameError('what only the page knows')", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "__main__", script)
    assert killed(begin_only, after=0.5) == [{"here": True}]
