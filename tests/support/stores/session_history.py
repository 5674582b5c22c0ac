"""Sessions with a history drawn at random: what people and Conductors do with them, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from hypothesis import strategies as st

from conductor.engine.experiments import EdgeTest, Experiment, Replacement, StepSearch, Swap
from conductor.runs.events import RunOutcome, StepFailed, StepKept
from conductor.runs.request import RunRequest
from conductor.values.accepted import Accepted
from conductor.values.budget import Budget
from conductor.values.messages import NOTHING_USED, Usage
from conductor.values.output import HandEdit
from conductor.values.presets import Settings
from storage import SessionStore
from storage.records import RequestSession
from storage.session_entries import NoteEntry
from storage.tables.rows import new_id
from tests.support.stores.store_scenario import (
    INVALID,
    VALID,
    chain,
    delta,
    finished,
    keep,
    started,
    step_finished,
    step_started,
)

Act = tuple[str, int, str]
"""What is done, its number among several, a text."""

_RUNS = count()


def acts() -> st.SearchStrategy[list[Act]]:
    """What is done with one session, one after another."""
    names = st.sampled_from(sorted(_ACTS))
    return st.lists(st.tuples(names, st.integers(0, 7), st.text(max_size=6)), max_size=14)


def lived(store: SessionStore, history: Sequence[Act], *, query: str = "Why?") -> str:
    """A session that a request began, and that all of this was done with."""
    session = new_id()
    store.requests.begin(
        RunRequest(query=query), session=session, stored_as=RequestSession(token="t")
    ).result()
    store.requests.keep_response(session, "{}")
    store.requests.set_response_aside(session, answer="")
    store.requests.set_newest_turn(session, digests=("a digest",))
    store.requests.keep_response(session, "{}")
    for name, number, text in history:
        _ACTS[name](store, session, number, text)
    return session


def _edit(store: SessionStore, session: str, number: int, text: str) -> None:
    workflow = chain(*(f"{text} {step}" for step in range(number % 3 + 1)))
    if number % 2:
        output = step_finished("elsewhere", text, seq=0).output.by_hand(text, edit=HandEdit(at=7.0))
        workflow = workflow.with_pin(0, output)
    store.revisions.add(session, workflow, origin="human", note=text)


def _undo(store: SessionStore, session: str, number: int, text: str) -> None:
    (store.revisions.undo if number % 2 else store.revisions.redo)(session)


def _plan(store: SessionStore, session: str, number: int, text: str) -> None:
    last = store.runs.latest(session)
    looks_back = last.id if last is not None and number % 2 else None
    plan = store.plans.add(
        session,
        planner=f"planner {text}",
        planner_kind="model",
        report=(VALID, INVALID, None)[number % 3],
        failure=text if number % 3 == 2 else None,
        usage=Usage(prompt_tokens=number),
        seconds=0.1 * number,
        round=2 if looks_back else 1,
        looks_back=looks_back,
        alternative=f"batch {number}" if number > 5 else None,
    )
    if plan.report is VALID or number % 3 == 0:
        store.revisions.add(session, chain(f"planned {text}"), origin="conductor", plan=plan.id)


def _run(store: SessionStore, session: str, number: int, text: str) -> None:
    last = store.runs.latest(session)
    if last is not None and last.status == "running":
        return
    head = store.revisions.head(session) or store.revisions.add(session, chain("do"), origin="human")
    parent = last.id if last is not None else None
    run = f"run-{next(_RUNS)}"
    store.runs.start(run=run, session=session, revision=head.id, parent=parent)
    start = started(run, head.workflow).model_copy(update={"parent": parent, "budget": Budget(tokens=9)})
    keep(store, start, step_started(run, seq=1), delta(run, seq=2, text=text))
    _end(store, run, number, text)


def _end(store: SessionStore, run: str, number: int, text: str) -> None:
    if number % 2:
        keep(store, step_finished(run, text, seq=3, fingerprint=f"f{number}"))
    else:
        keep(store, StepFailed(run=run, seq=3, at=4.0, step=0, message=text, usage=NOTHING_USED, seconds=1.0))
    outcomes: tuple[RunOutcome, ...] = ("finished", "failed", "cancelled", "over_budget")
    keep(store, finished(run, seq=4, outcome=outcomes[number % 4], answer=text))


def _try(store: SessionStore, session: str, number: int, text: str) -> None:
    base = store.runs.latest(session)
    if base is None:
        return
    experiments: tuple[Experiment, ...] = (
        EdgeTest(edges=((0, 1),), repeats=2),
        Swap(step=0, workers=("w", text)),
        StepSearch(
            accepted=Accepted(target=(text.strip() or "x",)),
            replacements=(Replacement(step=0, text=text), Replacement(step=0, worker="w")),
            hand=HandEdit(at=2.0, by=text),
        ),
    )
    experiment = experiments[number % 3]
    entry = store.experiments.add(session, experiment, base=base.id)
    run = f"trial-{next(_RUNS)}"
    store.runs.start(
        run=run, session=session, revision=base.revision, parent=base.id, experiment=entry.id, trial=number
    )
    output = step_finished(base.id, text, seq=0).output
    head = store.revisions.find(base.revision).workflow
    keep(
        store,
        started(run, head),
        StepKept(run=run, seq=1, at=2.0, step=0, output=output, because="preloaded"),
        finished(run, seq=2, answer=None),
    )


def _judge(store: SessionStore, session: str, number: int, text: str) -> None:
    last = store.runs.latest(session)
    if last is not None:
        store.corrections.rate(last.id, (None, "up", "down")[number % 3])


def _note(store: SessionStore, session: str, number: int, text: str) -> None:
    run = store.runs.latest(session)
    on_run = {} if run is None else {"run": run.id, "revision": run.revision, "step": number, "start": 1}
    note = NoteEntry(
        id=new_id(),
        part="output" if on_run else "question",
        quote=text,
        text=f"note {text}",
        author="Ada" if number % 2 else None,
        created_at=0,
        **on_run,
    )
    store.notes.add(session, note)
    if number % 3 == 2:
        store.notes.delete(note.id)


def _wish(store: SessionStore, session: str, number: int, text: str) -> None:
    head = store.revisions.head(session)
    if head is None:
        return
    change, author = new_id(), "Ada" if number % 2 else None
    store.changes.add(session, change, revision=head.id, wish=f"wish {text}", author=author)
    store.plans.add(
        session,
        planner=f"planner {text}",
        planner_kind="model",
        report=(VALID, INVALID)[number % 2],
        usage=Usage(prompt_tokens=number),
        alternative=change,
    )
    if number % 3 == 0:
        store.changes.decide(change, "left")
    elif number % 3 == 1:
        revision = store.revisions.add(session, chain(f"taken {text}"), origin="human")
        store.changes.decide(change, "part", chosen=revision.id)


def _choose(store: SessionStore, session: str, number: int, text: str) -> None:
    store.sessions.set_settings(session, Settings(max_steps=number + 1, workers=(text, "w")))


def _tag(store: SessionStore, session: str, number: int, text: str) -> None:
    store.sessions.add_tag(session, f"tag {text}")


def _name(store: SessionStore, session: str, number: int, text: str) -> None:
    store.sessions.rename(session, text)


_ACTS: dict[str, Callable[[SessionStore, str, int, str], None]] = {
    "edit": _edit,
    "undo": _undo,
    "plan": _plan,
    "run": _run,
    "try": _try,
    "judge": _judge,
    "note": _note,
    "wish": _wish,
    "choose": _choose,
    "tag": _tag,
    "name": _name,
}
