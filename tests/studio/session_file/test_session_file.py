"""A session that is exported and imported is as it was, but for its ids and the time of the import."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from sqlalchemy import Table
from sqlalchemy.event import listen

from conductor.errors import FormatError, StorageError
from conductor.runs.events import StepFinished, StepInner
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.workflow.file import write_plan
from storage import SessionStore
from storage.database.schema import METADATA
from storage.records import SessionFilter
from storage.session_entries import ENTRIES, Kind
from studio.session_file import import_sessions, write_sessions
from tests.studio.session_file.line_schema import line_schema
from tests.support.cases.property_cases import cases
from tests.support.runs.tool_cases import tool_events, tool_uses
from tests.support.stores.session_files import exported, file_of, imported, lines_of, previewed
from tests.support.stores.session_history import Act, acts, lived
from tests.support.stores.store_scenario import (
    begin,
    by_fingerprint,
    chain,
    charged,
    delta,
    finished,
    keep,
    started,
    step_finished,
    ticking,
)

pytestmark = pytest.mark.slow

PUBLISHED = json.loads(
    (Path(__file__).parents[3] / "docs/conductor-session-2.schema.json").read_text(encoding="utf-8")
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
    ("note", 1, "two"),
    ("wish", 0, "two"),
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


def without_ids(file: bytes) -> str:
    """The lines with ids replaced by the places of their entries, without the time of the last update."""
    names: dict[str, str] = {}
    lines = lines_of(file)
    for at, line in enumerate(lines):
        ((kind, entry),) = line.items() if len(line) == 1 else (("header", {}),)
        if kind == "session":
            entry["updated_at"] = None
        if kind in ("session", "plan", "revision", "run", "experiment", "note"):
            names[entry["id"]] = f"{kind} {at}"
        if kind == "plan" and entry["alternative"]:
            names.setdefault(entry["alternative"], f"batch {at}")
    return json.dumps(_named(lines, names))


def _named(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _named(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_named(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.thorough
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
        file = exported(here, lived(here, history))
        copy = exported(there, imported(there, file).id)
    assert without_ids(copy) == without_ids(file)


def test_an_imported_session_is_the_same_to_all_who_ask_the_store(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    session = lived(store, FULL)
    copy = imported(elsewhere, exported(store, session)).id
    original = store.sessions.listed()[0]
    copied = elsewhere.sessions.listed()[0]
    same = {"id": copy, "updated_at": 9e9, "origin": "import"}
    assert copied == original.model_copy(update=same)
    assert (
        by_fingerprint(elsewhere.runs.outputs(copy)).keys()
        == by_fingerprint(store.runs.outputs(session)).keys()
    )
    assert elsewhere.sessions.total(copy) == store.sessions.total(session)
    assert sorted(map(str, elsewhere.runs.totals(copy).values())) == sorted(
        map(str, store.runs.totals(session).values())
    )
    assert elsewhere.sessions.used_since(0.0).calls == 0, "what was used elsewhere is not used here"
    assert [
        len(elsewhere.experiments.trials(each.id)) for each in elsewhere.experiments.of_session(copy)
    ] == [1, 1]
    assert [correction.note for correction in elsewhere.corrections.read()] == [
        correction.note for correction in store.corrections.read()
    ]
    head = elsewhere.revisions.head(copy)
    assert head.session == copy
    assert elsewhere.revisions.undo(copy) is not None, "the head can be moved on"
    assert (
        elsewhere.revisions.add(copy, chain("next"), origin="human").number
        == len(store.revisions.of_session(session)) + 1
    )


def test_each_call_of_a_tool_comes_out_of_a_file_with_all_its_fields(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    session = store.sessions.create("Why?").id
    events = tool_events()
    workflow = events[0].workflow
    store.revisions.add(session, workflow, origin="human")
    begin(store, session, "r")
    keep(store, *events)
    copy = elsewhere.runs.latest(imported(elsewhere, exported(store, session)).id)
    before, after = store.runs.state("r").steps[0], elsewhere.runs.state(copy.id).steps[0]
    assert after.tool_uses == before.tool_uses == tool_uses()
    assert after.timed_calls == before.timed_calls
    assert after.request == before.request


def test_each_import_of_a_file_is_a_session_of_its_own(store: SessionStore) -> None:
    file = exported(store, lived(store, FULL))
    copies = [imported(store, file) for _ in range(2)]
    title = lines_of(file)[1]["session"]["title"]
    assert [session.title for session in copies] == [f"{title} (2)", f"{title} (3)"]
    runs = [run.id for session in store.sessions.listed() for run in store.runs.of_session(session.id)]
    assert len(set(runs)) == len(runs) == 6
    assert {event.run for event in store.runs.events(runs[0])} == {runs[0]}


def test_a_backup_restored_into_an_empty_store_keeps_its_titles(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    titles = ["Rivers", "Rivers", "Rivers (2)", "Hills"]
    ids = [store.sessions.create("Which?", title=title).id for title in titles]
    backup = exported(store, *ids)
    preview = previewed(backup, is_taken=elsewhere.files.is_title_taken)
    assert [session.called for session in preview.sessions] == titles
    assert titles_of(elsewhere, import_sessions(elsewhere, BytesIO(backup))) == titles
    again = import_sessions(elsewhere, BytesIO(backup))
    assert titles_of(elsewhere, again) == ["Rivers (3)", "Rivers (4)", "Rivers (5)", "Hills (2)"]


def titles_of(store: SessionStore, sessions: Sequence[str]) -> list[str]:
    return [store.sessions.find(session).title for session in sessions]


def test_a_title_that_a_number_made_is_given_to_no_other_session_of_the_file(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    elsewhere.sessions.create("Which?", title="Rivers")
    ids = [store.sessions.create("Which?", title=title).id for title in ("Rivers", "Rivers (2)")]
    copies = import_sessions(elsewhere, BytesIO(exported(store, *ids)))
    assert titles_of(elsewhere, copies) == ["Rivers (2)", "Rivers (3)"]


def test_a_run_that_was_live_reads_interrupted(store: SessionStore, elsewhere: SessionStore) -> None:
    session = lived(store, [])
    run = begin(store, session, "live").id
    keep(store, started(run, chain("do")), delta(run, seq=1, text="half"))
    file = exported(store, session)
    copy = imported(elsewhere, file)
    (copied,) = elsewhere.runs.of_session(copy.id)
    state = elsewhere.runs.state(copied.id)
    assert (copied.status, state.status, state.steps[0].text) == ("interrupted", "interrupted", "half")
    assert elsewhere.sessions.listed()[0].state == "interrupted"
    assert previewed(file).sessions[0].live == 1
    again = elsewhere.revisions.head(copy.id)
    assert elsewhere.runs.start(run="next", session=copy.id, revision=again.id).status == "running"


def test_what_an_interrupted_run_took_stays_unknown(store: SessionStore, elsewhere: SessionStore) -> None:
    session = lived(store, [])
    begin(store, session, "run")
    output = step_finished("run", "a", seq=1).output.model_copy(
        update={"usage": Usage(prompt_tokens=3, completion_tokens=4)}
    )
    answered = charged(StepFinished(run="run", seq=1, at=4.0, step=0, output=output))
    lost = Charge(worker="w", kind="model", purpose="step", stopped=True)
    end = finished("run", seq=2, outcome="interrupted").model_copy(update={"charges": {0: lost}})
    keep(store, started("run", chain("do")), answered, end)
    copy = imported(elsewhere, exported(store, session)).id
    for total in (store.sessions.total(session), elsewhere.sessions.total(copy)):
        assert (total.tokens, total.tokens_at_least) == (7, True)


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_file_of_an_earlier_version_took_is_in_the_totals_of_its_session(
    store: SessionStore, elsewhere: SessionStore, *, inside: bool
) -> None:
    session = lived(store, [])
    begin(store, session, "run")
    former = step_finished("run", "a", seq=2).model_copy(update={"charge": None})
    nested = StepInner(run="run", seq=1, at=3.0, step=0, event=former)
    events = [started("run", chain("do")), *([nested] if inside else []), former]
    file = exported(store, session) if keep(store, *events, finished("run", seq=3)) is None else b""
    copy = imported(elsewhere, file).id
    assert store.sessions.total(session).calls == 0
    assert elsewhere.sessions.total(copy).calls == 1
    assert elsewhere.sessions.used_since(0.0).calls == 0


@pytest.mark.thorough
def test_several_sessions_go_in_one_file_and_come_out_together(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    sessions = [lived(store, FULL, query=query) for query in ("One?", "Two?", "One?")]
    data = exported(store, *sessions)
    preview = previewed(data, is_taken=elsewhere.files.is_title_taken)
    copies = import_sessions(elsewhere, BytesIO(data))
    assert [session.called for session in preview.sessions] == titles_of(elsewhere, copies)
    for session, copy in zip(sessions, copies, strict=True):
        before, after = exported(store, session), exported(elsewhere, copy)
        assert without_ids(after).split('"plan"', 1)[1] == without_ids(before).split('"plan"', 1)[1]
    assert import_sessions(elsewhere, BytesIO(exported(store))) == ()


@pytest.mark.thorough
def test_many_sessions_of_one_title_come_in_as_quickly_as_of_others(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    statements: list[str] = []
    listen(
        elsewhere._transactions.database.writer,
        "before_cursor_execute",
        lambda *output: statements.append(output[2]),
    )

    def cost(*queries: str) -> int:
        data = exported(store, *(store.sessions.create(query).id for query in queries))
        statements.clear()
        import_sessions(elsewhere, BytesIO(data))
        return len(statements)

    others = cost(*(f"What is {number}?" for number in range(30)))
    elsewhere.sessions.create("What is it?")
    assert cost(*["What is it?"] * 30) <= others + 30, "one question more for each"
    titles = {session.title for session in elsewhere.sessions.listed(SessionFilter(search="it"))}
    assert titles == {"What is it?", *(f"What is it? ({number})" for number in range(2, 32))}


def test_more_than_can_be_imported_is_not_written(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.sessions.create("q").id
    for number in range(4):
        store.revisions.add(session, chain(f"do {number}"), origin="human")
    for limited in ("consistency", "writing"):
        monkeypatch.setattr(f"studio.session_file.{limited}.MAX_ENTRIES", 4)
    assert previewed(exported(store, session))
    monkeypatch.setattr("studio.session_file.writing.MAX_ENTRIES", 3)
    with pytest.raises(FormatError, match="more than 3 revisions, and could not be imported again"):
        exported(store, session)
    monkeypatch.setattr("studio.session_file.writing.MAX_SESSIONS", 1)
    with pytest.raises(FormatError, match="one file has at most 1"):
        exported(store, session, session)


LONG = "„long“ " * 2_000


def told_twice(store: SessionStore) -> str:
    """A session with a long text in an output, two events and the run's answer."""
    session = store.sessions.create("q").id
    run = begin(store, session, "run").id
    keep(store, started(run, chain("do")), step_finished(run, LONG, seq=1), finished(run, seq=2, answer=LONG))
    return session


def test_a_long_text_stands_once_in_the_file_of_a_session(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    sessions = [told_twice(store)]
    file = exported(store, *sessions)
    assert file.decode().count(LONG) == 1
    copy = imported(elsewhere, file).id
    assert (
        by_fingerprint(elsewhere.runs.outputs(copy))["f"].text
        == LONG
        == elsewhere.runs.of_session(copy)[0].answer
    )
    assert elsewhere.runs.state(elsewhere.runs.of_session(copy)[0].id).answer == LONG
    assert without_ids(exported(elsewhere, copy)) == without_ids(file)


def test_each_session_of_a_file_has_its_own_texts(store: SessionStore, elsewhere: SessionStore) -> None:
    twice = imported(store, exported(store, told_twice(store))).id
    file = exported(store, *store.sessions.ids())
    assert file.decode().count(LONG) == 2
    assert len(import_sessions(elsewhere, BytesIO(file))) == 2
    lines = exported(store, twice).splitlines(keepends=True)
    without = b"".join(line for line in lines if not line.startswith(b'{"text"'))
    with pytest.raises(FormatError, match=r"Line 4 refers to the text '\w+', which no line before it has"):
        previewed(without)


def test_texts_that_are_no_longer_in_memory_are_read_from_the_file_again(
    store: SessionStore, elsewhere: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.session_file.reading.RECENT_TEXTS", 1)
    session = store.sessions.create("q").id
    run = begin(store, session, "run").id
    texts = [f"{number} {LONG}" for number in range(3)]
    answers = [step_finished(run, text, seq=seq, fingerprint=f"f{seq}") for seq, text in enumerate(texts, 1)]
    keep(store, started(run, chain("do")), *answers, finished(run, seq=9, answer=texts[0]))
    copy = imported(elsewhere, exported(store, session)).id
    assert [by_fingerprint(elsewhere.runs.outputs(copy))[f"f{seq}"].text for seq in (1, 2, 3)] == texts


@pytest.mark.parametrize(
    "cut", ["a line", "two lines", "half a line", "all but the first line", "a middle line"]
)
def test_a_file_that_is_not_whole_is_noticed_and_not_imported(
    cut: str, store: SessionStore, elsewhere: SessionStore
) -> None:
    lines = exported(store, lived(store, FULL)).splitlines(keepends=True)
    left = {
        "a line": lines[:-1],
        "two lines": lines[:-2],
        "half a line": [*lines[:-3], lines[-3][:40]],
        "all but the first line": lines[:1],
        "a middle line": [*lines[:-6], *lines[-5:]],
    }[cut]
    with pytest.raises(FormatError, match=f"not complete|Line {len(lines) - 5} "):
        import_sessions(elsewhere, BytesIO(b"".join(left)))
    assert elsewhere.sessions.count() == 0


@pytest.mark.thorough
def test_a_session_is_exported_and_imported_a_few_entries_at_a_time(
    store: SessionStore, elsewhere: SessionStore
) -> None:
    session = store.sessions.create("q").id
    texts = [f"{number:09} " * 10_000 for number in range(200)]
    for start in range(0, 200, 20):
        run = begin(store, session, f"run-{start}").id
        answers = [
            step_finished(run, text, seq=seq, fingerprint=f"{start} {seq}")
            for seq, text in enumerate(texts[start : start + 20], 1)
        ]
        keep(store, started(run, chain("do")), *answers, finished(run, seq=99))

    def most_memory(work: Callable[[], object]) -> int:
        tracemalloc.start()
        work()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    with TemporaryFile() as file:
        exporting = most_memory(lambda: file.writelines(write_sessions(store, [session])))
        importing = most_memory(lambda: import_sessions(elsewhere, file))
        size = file.seek(0, SEEK_END)
    print(size, exporting, importing)
    assert size > 20_000_000
    assert max(exporting, importing) < 0.75 * size


def test_a_look_into_a_file_states_what_it_holds_and_what_is_unknown(store: SessionStore) -> None:
    file = exported(store, lived(store, FULL))
    preview = previewed(file, workers=["alpha"], is_taken=store.files.is_title_taken)
    (session,) = preview.sessions
    assert (preview.format, preview.size) == ("conductor-session", len(file))
    assert (session.plans, session.revisions, session.runs, session.trials) == (4, 4, 2, 2)
    assert (session.outputs, session.output_characters, session.events) == (2, 6, 16)
    assert (session.notes, session.changes) == (1, 1)
    assert session.called == f"{session.title} (2)"
    assert session.unknown_workers == preview.unknown_workers == ("w",)
    assert previewed(file, workers=["w"]).unknown_workers == ()
    assert store.sessions.count() == 1


def test_a_workflow_file_is_reported_as_one(store: SessionStore) -> None:
    text = write_plan(chain("a", "b"), query="Why?", origin="human", workers=("w",), label=None)
    preview = previewed(text.encode(), workers=["other"])
    assert (preview.format, preview.plan.query, preview.plan.steps) == ("conductor-workflow", "Why?", 2)
    assert preview.unknown_workers == ("w",)
    with pytest.raises(FormatError, match="no session"):
        imported(store, text.encode())
    steps = [{"instruction": "do", "worker": "w"}] * 10_000
    long = json.dumps({"format": "conductor-workflow", "version": 1, "steps": steps})
    with pytest.raises(FormatError, match="The file has 10,000 steps; a workflow may have at most 1,000"):
        previewed(long.encode())


def test_the_published_schema_is_made_of_the_forms_that_are_read() -> None:
    assert line_schema() == PUBLISHED, "write what tests/studio/session_file/line_schema.py prints to docs/"


@pytest.mark.thorough
def test_each_line_is_as_the_published_schema_defines_it(store: SessionStore) -> None:
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    validator = jsonschema.Draft202012Validator(PUBLISHED)
    for line in lines_of(exported(store, lived(store, FULL), told_twice(store))):
        validator.validate(line)
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**line, "extra": 1})


def test_every_column_of_a_session_is_in_its_file_or_left_out_for_a_reason() -> None:
    tables: dict[Kind, tuple[str, set[str]]] = {
        # Where it came from, whether it is deleted and how long it stays are one store's.
        "session": ("sessions", {"deleted_at", "origin", "forked_from", "expires_at"}),
        "plan": ("plans", {"session", "number"}),
        # Made of the workflow.
        # What was undone in one store is no matter of another.
        "revision": ("revisions", {"session", "number", "topology", "steps", "redo"}),
        # Who ran it, for whom, and who asked it to stop, is one store's.
        "run": ("runs", {"session", "number", "owner", "stop_asked_at", "token", "person"}),
        "experiment": ("experiments", {"session", "number"}),
        "correction": ("corrections", {"session"}),
        # Who gave it is one store's.
        "rating": ("ratings", {"author"}),
        # Deleted ones are left out.
        "note": ("notes", {"session", "deleted_at"}),
        "change": ("change_requests", {"session"}),
    }
    # The first three are in the file in forms of their own, four are made of what is, and whose token asked,
    # and what it was answered, is one store's.
    beside = {"events", "outputs", "tags", "texts", "revision_workers", "long_texts", "fragments"}
    beside |= {"api_requests", "api_earlier_responses", "api_conversations", "charges"}
    beside |= {"session_facets", "session_sums"}
    of_sessions = {table.name for table in METADATA.tables.values() if _of_a_session(table)}
    assert of_sessions == {name for name, _ in tables.values()} | beside
    for kind, (name, left_out) in tables.items():
        written = set(ENTRIES[kind].json_schema()["properties"]) - {"tags", "charges"}
        assert written | left_out == set(METADATA.tables[name].c.keys()), name


def _of_a_session(table: Table) -> bool:
    """Whether its rows are sessions, or belong to one."""
    above = {key.column.table for key in table.foreign_keys} - {table}
    return table.name == "sessions" or "session" in table.c or any(map(_of_a_session, above))


def test_the_process_that_ran_is_in_no_file(store: SessionStore) -> None:
    session = lived(store, FULL)
    owner = store.runs.of_session(session)[0].owner
    assert owner.split("/")[0] not in exported(store, session).decode()


def test_an_unknown_session_is_not_written(store: SessionStore) -> None:
    with pytest.raises(StorageError, match="no session 'nobody'"):
        exported(store, "nobody")


# -- versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3", "0", "true", '"2"', "2.0", "null"])
def test_a_version_that_no_one_wrote_is_refused(version: str) -> None:
    with pytest.raises(FormatError, match="version"):
        previewed(file_of().replace(b'"version": 2', f'"version": {version}'.encode()))
