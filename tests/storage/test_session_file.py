"""A session goes into a file and comes out of it as it was, but for its ids and when it was imported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from property_cases import cases
from session_history import Act, acts, lived
from sqlalchemy import Table
from sqlalchemy.event import listen
from store_scenario import begin, chain, delta, finished, keep, started, step_finished, ticking

from conductor.errors import FormatError, StorageError
from conductor.events import StepFinished
from conductor.messages import Usage
from conductor.plan_file import write_plan
from storage import SessionStore
from storage.schema import METADATA
from storage.session_entries import SECTIONS, Section
from storage.session_file import (
    import_session,
    import_sessions,
    look_into,
    session_schema,
    write_session,
    write_sessions,
)
from storage.session_filter import SessionFilter

GOLDEN = Path(__file__).parent / "session_files"
PUBLISHED = json.loads(
    (Path(__file__).parents[2] / "docs/conductor-session-1.schema.json").read_text(encoding="utf-8")
)
FULL: list[Act] = [
    ("plan", 0, "first"),
    ("edit", 1, "pinned"),
    ("run", 1, "one"),
    ("judge", 1, ""),
    ("plan", 3, "again"),
    ("plan", 6, "other"),
    ("run", 3, "two"),
    ("try", 1, "swap"),
    ("try", 2, "edge"),
    ("undo", 1, ""),
    ("choose", 2, "w"),
    ("tag", 0, "a"),
    ("name", 0, "A <b>title</b> \u202e"),
]


@pytest.fixture
def elsewhere(tmp_path: Path, empty_store: Path) -> Iterator[SessionStore]:
    """Another store with nothing in it."""
    file = shutil.copyfile(empty_store, tmp_path / "elsewhere.db")
    with SessionStore.open(f"sqlite:///{file}", clock=lambda: 9e9) as store:
        yield store


def without_ids(text: str) -> str:
    """The file with its ids told by their places, and without the time of the last update."""
    document = json.loads(text)
    document["session"]["updated_at"] = None
    names = {document["session"]["id"]: "session"}
    for section in ("plans", "revisions", "runs", "experiments"):
        names |= {entry["id"]: f"{section} {at}" for at, entry in enumerate(document[section])}
    batches = [plan["alternative"] for plan in document["plans"] if plan["alternative"]]
    names |= {batch: f"batch {at}" for at, batch in enumerate(dict.fromkeys(batches))}
    return json.dumps(_named(document, names))


def _named(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _named(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_named(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


@cases(25)
@given(history=acts())
def test_a_file_comes_out_of_another_store_as_it_went_in(
    history: list[Act], tmp_path_factory: pytest.TempPathFactory, empty_store: Path
) -> None:
    folder = tmp_path_factory.mktemp("round-trip")
    urls = [f"sqlite:///{shutil.copyfile(empty_store, folder / name)}" for name in ("a.db", "b.db")]
    with (
        SessionStore.open(urls[0], clock=ticking().__next__) as here,
        SessionStore.open(urls[1], clock=ticking().__next__) as there,
    ):
        text = write_session(here, lived(here, history))
        copy = write_session(there, import_session(there, text).id)
    assert without_ids(copy) == without_ids(text)


def test_an_imported_session_is_the_same_to_whoever_asks_the_store(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    session = lived(store, FULL)
    made = import_session(elsewhere, write_session(store, session)).id
    kept = store.sessions()[0]
    copied = elsewhere.sessions()[0]
    same = {"id": made, "updated_at": 9e9, "origin": "import"}
    assert copied == kept.model_copy(update=same)
    assert elsewhere.outputs(made).keys() == store.outputs(session).keys()
    assert [run.tokens for run in elsewhere.runs(made)] == [run.tokens for run in store.runs(session)]
    assert [len(elsewhere.trials(made.id)) for made in elsewhere.experiments(made)] == [1, 1]
    assert [made.note for made in elsewhere.corrections()] == [made.note for made in store.corrections()]
    head = elsewhere.head(made)
    assert head is not None
    assert head.session == made
    assert elsewhere.undo(made) is not None, "the head can be moved on"
    assert (
        elsewhere.add_revision(made, chain("next"), origin="human").number
        == len(store.revisions(session)) + 1
    )


def test_each_import_of_a_file_is_a_session_of_its_own(store: SessionStore) -> None:
    text = write_session(store, lived(store, FULL))
    made = [import_session(store, text) for _ in range(2)]
    title = json.loads(text)["session"]["title"]
    assert [session.title for session in made] == [f"{title} (2)", f"{title} (3)"]
    runs = [run.id for session in store.sessions() for run in store.runs(session.id)]
    assert len(set(runs)) == len(runs) == 6
    assert {event.run for event in store.events(runs[0])} == {runs[0]}


def test_a_run_that_was_live_reads_interrupted(store: SessionStore, elsewhere: SessionStore) -> None:
    session = lived(store, [])
    run = begin(store, session, "live").id
    keep(store, started(run, chain("do")), delta(run, seq=1, text="half"))
    text = write_session(store, session)
    made = import_session(elsewhere, text)
    (copied,) = elsewhere.runs(made.id)
    state = elsewhere.run_state(copied.id)
    assert (copied.status, state.status, state.steps[0].text) == ("interrupted", "interrupted", "half")
    assert elsewhere.sessions()[0].state == "interrupted"
    assert look_into(text, workers=["w"]).sessions[0].live == 1
    again = elsewhere.head(made.id)
    assert again is not None
    assert elsewhere.start_run(run="next", session=made.id, revision=again.id).status == "running"


def test_what_an_interrupted_run_took_stays_unknown(store: SessionStore, elsewhere: SessionStore) -> None:
    session = lived(store, [])
    begin(store, session, "run")
    told = step_finished("run", "a", seq=1).output.model_copy(
        update={"usage": Usage(prompt_tokens=3, completion_tokens=4)}
    )
    answered = StepFinished(run="run", seq=1, at=4.0, step=0, output=told)
    keep(store, started("run", chain("do")), answered, finished("run", seq=2, outcome="interrupted"))
    made = import_session(elsewhere, write_session(store, session)).id
    assert [run.tokens for run in store.runs(session)] == [None]
    assert [run.tokens for run in elsewhere.runs(made)] == [None]


def test_several_sessions_go_in_one_file_and_come_out_together(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    sessions = [lived(store, FULL, query=query) for query in ("One?", "Two?", "One?")]
    data = write_sessions(store, sessions)
    preview = look_into(data, workers=[], is_taken=elsewhere.is_title_taken)
    made = import_sessions(elsewhere, data)
    assert [session.called for session in preview.sessions] == [session.title for session in made]
    for session, copy in zip(sessions, made, strict=True):
        asked, got = write_session(store, session), write_session(elsewhere, copy.id)
        assert without_ids(got).split('"revisions"')[1] == without_ids(asked).split('"revisions"')[1]
    with pytest.raises(FormatError, match="holds 3 sessions"):
        import_session(elsewhere, data)
    assert import_sessions(elsewhere, write_sessions(store, [])) == ()


def test_many_sessions_of_one_title_come_in_as_quickly_as_of_others(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    statements: list[str] = []
    listen(elsewhere._database.writer, "before_cursor_execute", lambda *told: statements.append(told[2]))

    def cost(*queries: str) -> int:
        data = write_sessions(store, [store.create_session(query).id for query in queries])
        statements.clear()
        import_sessions(elsewhere, data)
        return len(statements)

    others = cost(*(f"What is {number}?" for number in range(30)))
    assert cost(*["What is it?"] * 30) <= others + 30, "one question more for each"
    titles = {session.title for session in elsewhere.sessions(SessionFilter(search="it"))}
    assert titles == {"What is it?", *(f"What is it? ({number})" for number in range(2, 31))}


@pytest.mark.slow
def test_what_is_too_much_for_one_file_is_not_written(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [lived(store, FULL) for _ in range(3)]
    monkeypatch.setattr("storage.session_file.writing.MAX_BYTES", 25_000)
    assert write_sessions(store, sessions[:2])
    with pytest.raises(FormatError, match="export fewer at once"):
        write_sessions(store, sessions)
    monkeypatch.setattr("storage.session_file.writing.MAX_SESSIONS", 1)
    with pytest.raises(FormatError, match="one file has at most 1"):
        write_sessions(store, sessions[:2])


@pytest.mark.slow
@pytest.mark.parametrize("bulk", [False, True])
def test_a_file_is_written_exactly_as_long_as_it_can_be_imported(
    store: SessionStore, elsewhere: SessionStore, monkeypatch: pytest.MonkeyPatch, *, bulk: bool
) -> None:
    session = lived(store, FULL)

    def written() -> bytes:
        return write_sessions(store, [session]) if bulk else write_session(store, session).encode()

    size = len(written())
    for limited in ("reading", "writing"):
        monkeypatch.setattr(f"storage.session_file.{limited}.MAX_BYTES", size)
    assert len(import_sessions(elsewhere, written())) == 1
    monkeypatch.setattr("storage.session_file.writing.MAX_BYTES", size - 1)
    with pytest.raises(FormatError, match=f"more than {size - 1:,} bytes.*could not be imported"):
        written()


@pytest.mark.parametrize(
    ("revisions", "outputs", "which"),
    [(4, 1, "plans, revisions, runs and experiments"), (1, 5, "outputs and judgements")],
)
def test_more_entries_than_are_read_are_not_written(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch, revisions: int, outputs: int, which: str
) -> None:
    session = store.create_session("q").id
    for number in range(revisions):
        store.add_revision(session, chain(f"do {number}"), origin="human")
    run = begin(store, session, "run").id
    answers = [step_finished(run, "a", seq=seq, fingerprint=f"f{seq}") for seq in range(1, outputs + 1)]
    keep(store, started(run, chain("do")), *answers, finished(run, seq=9))
    for limited in ("references", "writing"):
        monkeypatch.setattr(f"storage.session_file.{limited}.MAX_ROWS", 5)
    assert look_into(write_session(store, session), workers=["w"])
    monkeypatch.setattr("storage.session_file.writing.MAX_ROWS", 4)
    with pytest.raises(FormatError, match=f"more than 4 {which}, and could not be imported again"):
        write_session(store, session)


def test_a_look_into_a_file_says_what_it_holds_and_what_is_unknown(store: SessionStore) -> None:
    text = write_session(store, lived(store, FULL))
    preview = look_into(text, workers=["alpha"], is_taken=store.is_title_taken)
    (session,) = preview.sessions
    assert (preview.format, preview.size) == ("conductor-session", len(text))
    assert (session.plans, session.revisions, session.runs, session.trials) == (3, 4, 2, 2)
    assert (session.outputs, session.output_characters, session.events) == (2, 6, 16)
    assert session.called == f"{session.title} (2)"
    assert session.unknown_workers == preview.unknown_workers == ("w",)
    assert look_into(text, workers=["w"]).unknown_workers == ()
    assert store.count_sessions() == 1


def test_a_workflow_file_is_told_as_one(store: SessionStore) -> None:
    text = write_plan(chain("a", "b"), query="Why?", origin="human", workers=("w",), label=None)
    preview = look_into(text, workers=["other"])
    assert preview.plan is not None
    assert (preview.format, preview.plan.query, preview.plan.steps) == ("conductor-workflow", "Why?", 2)
    assert preview.unknown_workers == ("w",)
    with pytest.raises(FormatError, match="no session"):
        import_session(store, text)
    steps = [{"instruction": "do", "worker": "w"}] * 10_000
    long = json.dumps({"format": "conductor-workflow", "version": 1, "steps": steps})
    with pytest.raises(FormatError, match="The file has 10,000 steps; a workflow may have at most 100"):
        look_into(long, workers=["w"])


def test_a_file_is_as_its_published_schema_says(store: SessionStore) -> None:
    assert session_schema() == PUBLISHED
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    validator = jsonschema.Draft202012Validator(PUBLISHED)
    document = json.loads(write_session(store, lived(store, FULL)))
    validator.validate(document)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**document, "extra": 1})


def test_every_column_of_a_session_is_in_its_file_or_left_out_for_a_reason() -> None:
    tables: dict[Section, tuple[str, set[str]]] = {
        # Where it came from and whether it is deleted are one store's.
        "session": ("sessions", {"deleted_at", "origin", "forked_from"}),
        "plans": ("plans", {"session", "number"}),
        # Made of the workflow.
        "revisions": ("revisions", {"session", "number", "topology", "steps"}),
        # Tokens are made of the events; who ran it, and who asked it to stop, is one store's.
        "runs": ("runs", {"session", "number", "owner", "tokens", "stop_asked_at"}),
        "experiments": ("experiments", {"session", "number"}),
        "corrections": ("corrections", {"session"}),
        "ratings": ("ratings", set()),
    }
    # The first three are in the file in forms of their own, two are made of what is, and whose token asked
    # is one store's.
    beside = {"events", "outputs", "tags", "texts", "revision_workers", "api_requests"}
    of_sessions = {table.name for table in METADATA.tables.values() if _of_a_session(table)}
    assert of_sessions == {name for name, _ in tables.values()} | beside
    for section, (name, left_out) in tables.items():
        written = set(SECTIONS[section].json_schema()["properties"]) - {"tags"}
        assert written | left_out == set(METADATA.tables[name].c.keys()), name


def _of_a_session(table: Table) -> bool:
    """Whether its rows are sessions, or belong to one."""
    above = {key.column.table for key in table.foreign_keys} - {table}
    return table.name == "sessions" or "session" in table.c or any(map(_of_a_session, above))


def test_the_process_that_ran_is_in_no_file(store: SessionStore) -> None:
    session = lived(store, FULL)
    owner = store.runs(session)[0].owner
    assert owner.split("/")[0] not in write_session(store, session)


@pytest.mark.slow
def test_outputs_of_100_000_characters_pass(store: SessionStore, elsewhere: SessionStore) -> None:
    session, long = lived(store, []), "„long“ " * 15_000
    run = begin(store, session, "run").id
    keep(store, started(run, chain("do")), step_finished(run, long, seq=1), finished(run, seq=2, answer=long))
    made = import_session(elsewhere, write_session(store, session))
    assert elsewhere.outputs(made.id)["f"].text == long == elsewhere.runs(made.id)[0].answer


def test_an_unknown_session_is_not_written(store: SessionStore) -> None:
    with pytest.raises(StorageError, match="no session 'nobody'"):
        write_session(store, "nobody")


# -- versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.json")), ids=lambda golden: golden.stem)
def test_every_version_ever_written_is_read(golden: Path, store: SessionStore) -> None:
    preview = look_into(golden.read_bytes(), workers=["w"])
    made = import_session(store, golden.read_bytes())
    assert preview.sessions[0].query == made.query == "Why?"
    assert len(store.runs(made.id)) == preview.sessions[0].runs == 2
    assert [store.run_state(run.id).status for run in store.runs(made.id)] == ["over_budget", "failed"]


def test_an_older_file_is_brought_up_to_date_on_the_way(store: SessionStore) -> None:
    text = write_session(store, lived(store, FULL))
    first = text.replace('"note"', '"remark"')

    def second(section: Section, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        renamed = {"remark": "note"} if section == "revisions" else {}
        return {renamed.get(name, name): value for name, value in entry.items()}

    with pytest.raises(FormatError, match=r"revisions\.1\.note"):
        look_into(first, workers=[])
    assert look_into(first, workers=[], upgrades=(second,)).sessions[0].revisions == 4
    made = import_session(store, first, upgrades=(second,))
    assert store.revisions(made.id)[1].note == "pinned"
    assert import_session(store, text.replace('"version": 1', '"version": 2'), upgrades=(second,))


@pytest.mark.parametrize("version", ["2", "0", "true", '"1"', "1.0", "null"])
def test_a_version_that_nobody_wrote_is_refused(version: str, store: SessionStore) -> None:
    text = write_session(store, lived(store, [])).replace('"version": 1', f'"version": {version}')
    with pytest.raises(FormatError, match="version"):
        look_into(text, workers=[])
