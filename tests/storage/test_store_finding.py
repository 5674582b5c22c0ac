"""Sessions are found by what they say and what they are, and the index never drifts from the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from property_cases import cases
from store_scenario import begin, chain, finished, keep, started, step_finished

from conductor.errors import StorageError
from conductor.events import RunOutcome
from conductor.messages import Usage
from conductor.workflow import Step, Workflow
from storage import MAX_TAG, SessionFilter, SessionStore
from storage.database import Database
from storage.migrations import MIGRATIONS, bring_up_to_date


def found(store: SessionStore, search: str = "", **wanted: Any) -> list[str]:
    """The titles of the sessions that a filter finds, oldest first."""
    filter = SessionFilter(search=search, **wanted)
    listed = [summary.title for summary in store.sessions(filter)][::-1]
    assert store.count_sessions(filter) == len(listed)
    assert [store.session(id).title for id in store.session_ids(filter)] == listed[::-1]
    return listed


def used(store: SessionStore, run: str, *tokens: int | None, outcome: RunOutcome = "finished") -> None:
    """The end of a run whose calls took so many tokens each."""
    for seq, taken in enumerate(tokens):
        event = step_finished(run, "done", seq=seq)
        usage = Usage(prompt_tokens=taken, completion_tokens=0)
        output = event.output.model_copy(update={"usage": usage})
        keep(store, event.model_copy(update={"output": output}))
    keep(store, finished(run, seq=len(tokens), answer=None, outcome=outcome))


@pytest.fixture
def said(store: SessionStore) -> SessionStore:
    """Three sessions that say something in each of their texts."""
    sky = store.create_session("Pourquoi le ciel est-il bleu à midi?", title="Sky").id
    store.add_revision(sky, chain("Measure the wavelengths"), origin="human")
    store.add_revision(sky, chain("Ask Rayleigh"), origin="human")
    begin(store, sky, "r1")
    keep(store, finished("r1", seq=0, answer="It is scattering, forty-two percent."))
    begin(store, sky, "r2")
    keep(store, finished("r2", seq=0, answer="Zweite Antwort: Straße"))
    store.create_session("What is 100% of 数学 or 5 NEAR 6?", title="Sum")
    store.add_tag(store.create_session("q", title="Tagged").id, "Für Ölaf")
    return store


SAID = {
    "": ["Sky", "Sum", "Tagged"],
    "SKY": ["Sky"],
    "ciel": ["Sky"],
    "MIDÌ": ["Sky"],
    "wavel": ["Sky"],
    "avel": [],
    "rayleigh wavelengths scatter antw sk": ["Sky"],
    "rayleigh 数学": [],
    '"le ciel"': ["Sky"],
    '"ciel le"': [],
    '"le cie"': [],
    '"le cie': ["Sky"],
    "forty-two": ["Sky"],
    "straße": ["Sky"],
    "olaf": ["Tagged"],
    "数": ["Sum"],
    "100%": ["Sum"],
    "NEAR": ["Sum"],
    "5 AND 6": [],
    "5 OR": ["Sum"],
    "%": [],
    "_ *": [],
    '"': [],
    "'; DROP TABLE sessions --": [],
    "text:sky": [],
    "(sky": ["Sky"],
    "^sky*": ["Sky"],
    "\ud800": [],
    "sky\x00": ["Sky"],
    "x" * 5000: [],
}
"""What is searched for, and the titles of the sessions that say it."""


def test_a_search_looks_into_every_text_of_a_session(said: SessionStore) -> None:
    assert {search: found(said, search) for search in SAID} == SAID


@given(search=st.text(max_size=30))
@cases(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_search_is_an_error(said: SessionStore, search: str) -> None:
    found(said, search)
    found(said, f'sky "{search}" AND')


def test_snippets_show_what_was_found_beside_the_titles(said: SessionStore) -> None:
    ids = {summary.title: summary.id for summary in said.sessions()}
    snippets = said.snippets(list(ids.values()), "forty q sky")
    assert {snippet.kind for snippet in snippets.values()} == {"answer", "query"}
    assert ("forty", True) in snippets[ids["Sky"]].parts
    assert said.snippets(list(ids.values()), "%") == {}
    assert said.snippets([], "sky") == {}


def test_filters_leave_in_what_all_of_them_are_true_of(store: SessionStore) -> None:
    pair = Workflow.of([Step(instruction="a", worker="w"), Step(instruction="b", worker="v", access=(0,))])
    for title, workflow in (("one", chain("do")), ("two", pair), ("three", pair)):
        session = store.create_session("q", title=title).id
        store.add_revision(session, workflow, origin="human")
        begin(store, session, title)
    store.create_session("q", title="none")
    store.add_revision(store.sessions()[-1].id, chain("a", "b"), origin="human")
    store.undo(store.sessions()[0].id)
    used(store, "two", 10, 20)
    used(store, "three", 10, None)
    names = {summary.title: summary for summary in store.sessions()}
    store.add_tag(names["two"].id, "kept")
    store.add_tag(names["two"].id, "good")
    store.add_tag(names["one"].id, "good")
    assert found(store, states=("new",)) == ["none"]
    assert set(found(store, states=("new", "running"))) == {"none", "one"}
    assert found(store, topologies=("single",)) == ["one"]
    assert set(found(store, topologies=("chain", "single"))) == {"one", "two", "three"}
    assert set(found(store, workers=("v",))) == {"two", "three"}
    assert set(found(store, workers=("v", "w"))) == {"one", "two", "three"}
    assert set(found(store, tags=("good",))) == {"one", "two"}
    assert found(store, tags=("good", "kept")) == ["two"]
    assert found(store, tags=("Good",)) == []
    assert found(store, least_tokens=30) == ["two"]
    assert found(store, most_tokens=29) == ["one"]
    assert found(store, least_tokens=30, tags=("good",), search="tw", workers=("v",)) == ["two"]
    assert found(store, since=names["two"].updated_at) == ["two", "three"]
    assert set(found(store, until=names["two"].updated_at)) == {"none", "one", "two"}
    store.delete_session(names["two"].id)
    assert found(store, deleted=True) == ["two"]
    assert found(store, search="two") == []
    assert found(store, deleted=True, tags=("kept",), search="two") == ["two"]


def test_a_summary_tells_what_a_list_shows(store: SessionStore) -> None:
    session = store.create_session("q", origin="terminal").id
    summary = store.sessions()[0]
    assert (summary.tokens, summary.runs, summary.workers, summary.tags) == (None, 0, (), ())
    assert (summary.origin, summary.forked_from, summary.deleted_at) == ("terminal", None, None)
    begin(store, session, "r1")
    assert (store.sessions()[0].tokens, store.sessions()[0].runs) == (0, 1)
    used(store, "r1", 3, 4)
    begin(store, session, "r2")
    used(store, "r2", 5)
    store.add_tag(session, "b")
    store.add_tag(session, "a")
    summary = store.sessions()[0]
    assert (summary.tokens, summary.runs, summary.workers, summary.tags) == (12, 2, ("w",), ("a", "b"))
    assert [run.tokens for run in store.runs(session)] == [5, 7]
    begin(store, session, "r3")
    used(store, "r3", 5, outcome="interrupted")
    assert store.runs(session)[0].tokens is None


def test_workers_to_choose_from_are_those_of_current_workflows(store: SessionStore) -> None:
    def named(*workers: str) -> Workflow:
        return Workflow.of(Step(instruction="do", worker=worker) for worker in workers)

    session, gone = store.create_session("q").id, store.create_session("q").id
    assert store.known_workers() == ()
    store.add_revision(session, named("once"), origin="human")
    store.add_revision(session, named("now", "and", "now"), origin="human")
    store.add_revision(gone, named("gone"), origin="human")
    assert store.known_workers() == ("and", "gone", "now")
    store.delete_session(gone)
    assert store.known_workers() == ("and", "now")
    store.undo(session)
    assert store.known_workers() == ("once",)


def test_tags_are_short_lines_that_come_and_go(store: SessionStore) -> None:
    session, other = store.create_session("q").id, store.create_session("q").id
    assert store.add_tag(session, "  two\n words ") == ("two words",)
    assert store.add_tag(session, "two words") == ("two words",)
    assert store.add_tag(session, "x" * 100)[1] == "x" * (MAX_TAG - 1) + "…"
    assert store.add_tag(other, "<b>") == ("<b>",)
    assert store.known_tags() == tuple(sorted(("<b>", *store.tags(session))))
    store.delete_session(other)
    assert "<b>" not in store.known_tags()
    assert store.remove_tag(session, "never had") == store.tags(session)
    assert store.remove_tag(session, "two words") == store.tags(session)[:1]
    with pytest.raises(StorageError, match="at least one character"):
        store.add_tag(session, " \n")
    with pytest.raises(StorageError, match="no session"):
        store.add_tag("nobody", "tag")


def test_several_sessions_are_changed_together_or_not_at_all(store: SessionStore) -> None:
    ids = [store.create_session("q").id for _ in range(3)]
    for change in (
        lambda: store.delete_sessions([*ids, "unknown"]),
        lambda: store.add_tags([*ids, "unknown"], ["tag"]),
        lambda: store.add_tags(ids, ["tag", " "]),
    ):
        with pytest.raises(StorageError):
            change()
    assert [(store.session(id).deleted_at, store.tags(id)) for id in ids] == [(None, ())] * 3
    store.add_tags(ids, ["b", "a", "b"])
    store.delete_sessions(ids[:2])
    assert store.count_sessions() == 1
    assert [store.tags(id) for id in ids] == [("a", "b")] * 3
    store.restore_sessions(ids[:2])
    assert store.count_sessions() == 3


# -- the index ---------------------------------------------------------------------------------------


def drift(url: str) -> list[tuple[Any, ...]]:
    """What the index holds and should not, or the reverse; SQLite itself compares the words."""
    database = Database(url)
    with database.transaction(to="write") as connection:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(sqlalchemy.text(query))]

        kept, expected = rows("SELECT session, kind, text FROM texts"), rows("SELECT * FROM said")
        workers = rows("SELECT revision, worker FROM revision_workers")
        named = rows("SELECT DISTINCT revision, worker FROM revision_steps")
        if connection.dialect.name == "sqlite":
            # Raises where the full-text index does not fit the texts.
            connection.execute(
                sqlalchemy.text("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
            )
    database.close()
    twice = [row for row in set(kept) if kept.count(row) > 1]
    return [*twice, *(set(kept) ^ set(expected)), *(set(workers) ^ set(named))]


def remove(url: str, session: str, *, whole: bool) -> None:
    """Take a session's newest run away, or all of the session, behind the store's back."""
    newest = "SELECT id FROM runs WHERE session = :session ORDER BY number DESC LIMIT 1"
    every = (
        "DELETE FROM runs WHERE session = :session",
        "UPDATE revisions SET parent = NULL WHERE session = :session",
        "DELETE FROM corrections WHERE session = :session",
        "DELETE FROM revisions WHERE session = :session",
        "DELETE FROM sessions WHERE id = :session",
    )
    events = "DELETE FROM events WHERE run IN (SELECT id FROM runs WHERE session = :session)"
    database = Database(url)
    with database.transaction(to="write") as connection:
        for statement in (events, *(every if whole else (f"DELETE FROM runs WHERE id IN ({newest})",))):
            connection.execute(sqlalchemy.text(statement), {"session": session})
    database.close()


_WORDS = st.sampled_from(["", "a", "b c", "É", 'd"e', "\x00", "数"])
_DEEDS = st.lists(
    st.tuples(st.sampled_from("create rename edit answer tag untag forget".split()), _WORDS, _WORDS),
    max_size=12,
)


@given(deeds=_DEEDS, whole=st.booleans())
@cases(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_done_the_index_is_what_a_rebuild_would_make(
    store: SessionStore, url: str, deeds: Sequence[tuple[str, str, str]], whole: bool
) -> None:
    session = store.create_session("first").id
    for number, (deed, one, other) in enumerate(deeds):
        run = f"{session}-{number}"
        match deed:
            case "create":
                session = store.create_session(one, title=other).id
            case "rename":
                store.rename_session(session, one)
            case "edit":
                store.add_revision(session, chain(f"{one}.", f"{other}."), origin="human")
            case "answer":
                begin(store, session, run)
                keep(store, finished(run, seq=0, answer=one))
            case "tag":
                store.add_tag(session, f"#{one}")
            case "untag":
                store.remove_tag(session, f"#{one}")
            case "forget":
                remove(url, session, whole=False)
    assert drift(url) == []
    remove(url, session, whole=whole)
    assert drift(url) == []


def test_sessions_of_an_older_store_are_found_too(url: str, file: Path) -> None:
    database = Database(url)
    database.create_folder()
    bring_up_to_date(database, now=0.0, migrations=MIGRATIONS[:3])
    database.close()
    events = [
        started("r", chain("do")),
        *(step_finished("r", "x", seq=seq) for seq in (1, 2)),
        finished("r", seq=3),
    ]
    known = events[1].model_copy(
        update={
            "output": events[1].output.model_copy(
                update={"usage": Usage(prompt_tokens=3, completion_tokens=4)}
            )
        }
    )
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, kept in (("s", events), ("t", [known])):
            connection.execute(
                "INSERT INTO sessions VALUES (?, 'Kept', 'Why?', 1, 2, NULL, ?, 'finished', NULL, NULL)",
                (name, name),
            )
            connection.execute(
                "INSERT INTO revisions VALUES (?, ?, 1, NULL, 'human', '', NULL, 1, ?, 'single', 1, NULL)",
                (name, name, chain("Wägen").model_dump_json()),
            )
            connection.execute(
                "INSERT INTO runs (id, session, number, revision, status, started_at, answer, owner) "
                "VALUES (:name, :name, 1, :name, 'finished', 1, 'so', 'me')",
                {"name": name},
            )
            connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?)",
                [(name, event.seq, event.model_dump_json()) for event in kept],
            )
        connection.execute("INSERT INTO events VALUES ('t', 99, 'torn')")
        connection.execute(
            "INSERT INTO revisions (id, session, number, origin, note, created_at, workflow, topology, steps)"
            " VALUES ('x', 's', 2, 'human', '', 1, 'torn', 'single', 1)"
        )
    with SessionStore.open(url) as store:
        assert [
            store.count_sessions(SessionFilter(search=word)) for word in ("kept", "wagen", "so", "torn")
        ] == [
            2,
            2,
            2,
            0,
        ]
        assert {summary.id: summary.tokens for summary in store.sessions()} == {"s": None, "t": 7}
        assert store.sessions()[0].workers == ("w",)
        assert store.session("s").origin is None
    assert drift(url) == []
