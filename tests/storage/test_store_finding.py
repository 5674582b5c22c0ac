"""Sessions are found by their words and their kind, and the index never drifts from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from conductor.errors import StorageError
from conductor.runs.events import RunOutcome
from conductor.values.messages import Usage
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from storage import MAX_TAG, SessionFilter, SessionOrigin, SessionStore
from storage.database.database import Database
from storage.session_entries import NoteEntry
from tests.support.cases.property_cases import cases
from tests.support.stores.store_scenario import begin, chain, charged, finished, keep, step_finished

pytestmark = pytest.mark.slow


def titles(store: SessionStore, search: str = "", **criteria: Any) -> list[str]:
    """The titles of the sessions that a filter finds, oldest first."""
    filter = SessionFilter(search=search, **criteria)
    listed = [summary.title for summary in store.sessions.listed(filter)][::-1]
    assert store.sessions.count(filter) == len(listed)
    assert [store.sessions.find(id).title for id in store.sessions.ids(filter)] == listed[::-1]
    return listed


def used(store: SessionStore, run: str, *tokens: int | None, outcome: RunOutcome = "finished") -> None:
    """The end of a run whose calls took so many tokens each."""
    for seq, count in enumerate(tokens):
        event = step_finished(run, "done", seq=seq)
        usage = Usage(prompt_tokens=count, completion_tokens=0)
        output = event.output.model_copy(update={"usage": usage})
        keep(store, charged(event.model_copy(update={"output": output})))
    keep(store, finished(run, seq=len(tokens), answer=None, outcome=outcome))


@pytest.fixture
def searched(store: SessionStore) -> SessionStore:
    """Three sessions that have words in each of their texts."""
    sky = store.sessions.create("Pourquoi le ciel est-il bleu à midi?", title="Sky").id
    store.revisions.add(sky, chain("Measure the wavelengths"), origin="human")
    store.revisions.add(sky, chain("Ask Rayleigh"), origin="human")
    begin(store, sky, "r1")
    keep(store, finished("r1", seq=0, answer="It is scattering, forty-two percent."))
    begin(store, sky, "r2")
    keep(store, finished("r2", seq=0, answer="Zweite Antwort: Straße"))
    store.sessions.create("What is 100% of 数学 or 5 NEAR 6?", title="Sum")
    store.sessions.add_tag(store.sessions.create("q", title="Tagged").id, "Für Ölaf")
    return store


MATCHES = {
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
"""What is searched for, and the titles of the sessions that have it."""


def test_a_search_looks_into_every_text_of_a_session(searched: SessionStore) -> None:
    assert {search: titles(searched, search) for search in MATCHES} == MATCHES


@given(search=st.text(max_size=30))
@cases(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_search_is_an_error(searched: SessionStore, search: str) -> None:
    titles(searched, search)
    titles(searched, f'sky "{search}" AND')


def test_snippets_show_what_was_found_beside_the_titles(searched: SessionStore) -> None:
    ids = {summary.title: summary.id for summary in searched.sessions.listed()}
    snippets = searched.sessions.snippets(list(ids.values()), "forty q sky")
    assert {snippet.kind for snippet in snippets.values()} == {"answer", "query"}
    assert ("forty", True) in snippets[ids["Sky"]].parts
    assert searched.sessions.snippets(list(ids.values()), "%") == {}
    assert searched.sessions.snippets([], "sky") == {}


def test_filters_leave_in_what_all_of_them_are_true_of(store: SessionStore) -> None:
    pair = Workflow.of([Step(instruction="a", worker="w"), Step(instruction="b", worker="v", access=(0,))])
    for title, workflow in (("one", chain("do")), ("two", pair), ("three", pair)):
        session = store.sessions.create("q", title=title).id
        store.revisions.add(session, workflow, origin="human")
        begin(store, session, title)
    store.sessions.create("q", title="none")
    store.revisions.add(store.sessions.listed()[-1].id, chain("a", "b"), origin="human")
    store.revisions.undo(store.sessions.listed()[0].id)
    used(store, "two", 10, 20)
    used(store, "three", 10, None)
    names = {summary.title: summary for summary in store.sessions.listed()}
    store.sessions.add_tag(names["two"].id, "kept")
    store.sessions.add_tag(names["two"].id, "good")
    store.sessions.add_tag(names["one"].id, "good")
    assert titles(store, states=("new",)) == ["none"]
    assert set(titles(store, states=("new", "running"))) == {"none", "one"}
    assert titles(store, topologies=("single",)) == ["one"]
    assert set(titles(store, topologies=("chain", "single"))) == {"one", "two", "three"}
    assert set(titles(store, workers=("v",))) == {"two", "three"}
    assert set(titles(store, workers=("v", "w"))) == {"one", "two", "three"}
    assert set(titles(store, tags=("good",))) == {"one", "two"}
    assert titles(store, tags=("good", "kept")) == ["two"]
    assert titles(store, tags=("Good",)) == []
    assert titles(store, least_tokens=30) == ["two"]
    assert titles(store, most_tokens=29) == ["one"]
    assert titles(store, least_tokens=30, tags=("good",), search="tw", workers=("v",)) == ["two"]
    assert titles(store, since=names["two"].updated_at) == ["two", "three"]
    assert set(titles(store, until=names["two"].updated_at)) == {"none", "one", "two"}
    store.sessions.delete(names["two"].id)
    assert titles(store, deleted=True) == ["two"]
    assert titles(store, search="two") == []
    assert titles(store, deleted=True, tags=("kept",), search="two") == ["two"]


def test_a_summary_shows_what_a_list_shows(store: SessionStore) -> None:
    session = store.sessions.create("q", origin="terminal").id
    summary = store.sessions.listed()[0]
    assert (summary.tokens, summary.runs, summary.workers, summary.tags) == (None, 0, (), ())
    assert (summary.origin, summary.forked_from, summary.deleted_at) == ("terminal", None, None)
    begin(store, session, "r1")
    assert (store.sessions.listed()[0].tokens, store.sessions.listed()[0].runs) == (None, 1)
    used(store, "r1", 3, 4)
    begin(store, session, "r2")
    used(store, "r2", 5)
    store.sessions.add_tag(session, "b")
    store.sessions.add_tag(session, "a")
    summary = store.sessions.listed()[0]
    assert (summary.tokens, summary.runs, summary.workers, summary.tags) == (12, 2, ("w",), ("a", "b"))
    assert {run: total.tokens for run, total in store.runs.totals(session).items()} == {"r1": 7, "r2": 5}


def test_workers_to_choose_from_are_those_of_current_workflows(store: SessionStore) -> None:
    def named(*workers: str) -> Workflow:
        return Workflow.of(Step(instruction="do", worker=worker) for worker in workers)

    session, gone = store.sessions.create("q").id, store.sessions.create("q").id
    assert store.sessions.facet_names("worker") == ()
    store.revisions.add(session, named("once"), origin="human")
    store.revisions.add(session, named("now", "and", "now"), origin="human")
    store.revisions.add(gone, named("gone"), origin="human")
    assert store.sessions.facet_names("worker") == ("and", "gone", "now")
    store.sessions.delete(gone)
    assert store.sessions.facet_names("worker") == ("and", "now")
    store.revisions.undo(session)
    assert store.sessions.facet_names("worker") == ("once",)


def test_a_session_is_found_by_a_fallback_also_as_a_fork(store: SessionStore) -> None:
    def ruled(fallback: str) -> Workflow:
        steps = [Step(instruction="do", worker="own"), Step(instruction="say", worker="other", access=(0,))]
        return Workflow.of(steps).with_on_failure(0, OnFailure(fallback=fallback))

    session = store.sessions.create("q").id
    store.revisions.add(session, ruled("other"), origin="human")
    assert store.sessions.facet_names("worker") == ("other", "own")
    revision = store.revisions.add(session, ruled("dear"), origin="human")
    assert store.sessions.facet_names("worker") == ("dear", "other", "own")
    fork = store.sessions.fork(session, revision.id)
    assert {each.id for each in store.sessions.listed(SessionFilter(workers=("dear",)))} == {
        session,
        fork.id,
    }
    store.sessions.delete(session)
    assert store.sessions.facet_names("worker") == ("dear", "other", "own")
    store.revisions.add(fork.id, ruled("other"), origin="human")
    assert store.sessions.facet_names("worker") == ("other", "own")


def test_tags_are_short_lines_that_come_and_go(store: SessionStore) -> None:
    session, other = store.sessions.create("q").id, store.sessions.create("q").id
    assert store.sessions.add_tag(session, "  two\n words ") == ("two words",)
    assert store.sessions.add_tag(session, "two words") == ("two words",)
    assert store.sessions.add_tag(session, "x" * 100)[1] == "x" * (MAX_TAG - 1) + "…"
    assert store.sessions.add_tag(other, "<b>") == ("<b>",)
    assert store.sessions.facet_names("tag") == tuple(sorted(("<b>", *store.sessions.tags(session))))
    store.sessions.delete(other)
    assert "<b>" not in store.sessions.facet_names("tag")
    assert store.sessions.remove_tag(session, "never had") == store.sessions.tags(session)
    assert store.sessions.remove_tag(session, "two words") == store.sessions.tags(session)[:1]
    with pytest.raises(StorageError, match="at least one character"):
        store.sessions.add_tag(session, " \n")
    with pytest.raises(StorageError, match="no session"):
        store.sessions.add_tag("nobody", "tag")


def test_several_sessions_are_changed_together_or_not_at_all(store: SessionStore) -> None:
    ids = [store.sessions.create("q").id for _ in range(3)]
    for change in (
        lambda: store.sessions.delete(*ids, "unknown"),
        lambda: store.sessions.add_tags([*ids, "unknown"], ["tag"]),
        lambda: store.sessions.add_tags(ids, ["tag", " "]),
    ):
        with pytest.raises(StorageError):
            change()
    assert [(store.sessions.find(id).deleted_at, store.sessions.tags(id)) for id in ids] == [(None, ())] * 3
    store.sessions.add_tags(ids, ["b", "a", "b"])
    store.sessions.delete(*ids[:2])
    assert store.sessions.count() == 1
    assert [store.sessions.tags(id) for id in ids] == [("a", "b")] * 3
    store.sessions.restore(*ids[:2])
    assert store.sessions.count() == 3


# -- windows -----------------------------------------------------------------------------------------


WINDOWS: dict[str, SessionFilter] = {
    "all": SessionFilter(),
    "a state": SessionFilter(states=("new",)),
    "two states": SessionFilter(states=("new", "planned")),
    "a tag": SessionFilter(tags=("even",)),
    "two tags": SessionFilter(tags=("even", "third")),
    "a worker": SessionFilter(workers=("w",)),
    "tokens": SessionFilter(least_tokens=1),
    "a word": SessionFilter(search="question"),
    "a word and a tag": SessionFilter(search="question", tags=("third",)),
    "two words": SessionFilter(search="question fourth"),
    "days": SessionFilter(since=1_000_003.0, until=1_000_009.0),
    "those of evaluations": SessionFilter(evaluated=True),
    "deleted": SessionFilter(deleted=True),
    "deleted with a tag": SessionFilter(deleted=True, tags=("even",)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_any_size_are_the_list_whatever_is_read_for_each(
    name: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(range(1_000_000, 2_000_000))
    with SessionStore.open(url, clock=lambda: float(next(moments))) as store:
        for at in range(12):
            origin: SessionOrigin | None = "evaluation" if at % 6 == 5 else None
            fourth = "fourth" if at % 4 == 0 else ""
            session = store.sessions.create(f"question {at} {fourth}", origin=origin).id
            store.sessions.add_tags([session], [tag for tag, each in TAGGED.items() if at % each == 0])
            if at % 2:
                store.revisions.add(session, chain(f"Question, question {at}"), origin="human")
            if at % 3 == 0:
                begin(store, session, f"run {at}")
                used(store, f"run {at}", at)
            if at in (2, 6):
                store.sessions.delete(session)
        filter = WINDOWS[name]
        whole = store.sessions.ids(filter)
        assert whole, "the table would test nothing"
        for rare in (0, 1000):
            monkeypatch.setattr("storage.search.path._RARE", rare)
            monkeypatch.setattr("storage.search.path._RARE_IN_TEXTS", rare)
            for most, scanned in ((1, 1), (2, 1), (3, 2), (3, None), (100, 4), (100, None)):
                ids: list[str] = []
                after = None
                for _ in range(100):
                    window = store.sessions.window(filter, after=after, most=most, scanned=scanned)
                    ids, after = [*ids, *window.ids], window.further
                    if after is None:
                        break
                assert tuple(ids) == whole, (rare, most, scanned)
            rest = store.sessions.window(filter, after=whole[0])
            assert rest.ids == whole[1:], "the id of a session is a place, too"


TAGGED = {"even": 2, "third": 3}


@pytest.mark.parametrize(
    ("older", "newer", "search"),
    [
        ("하루", "한국어", "하"),
        ("カメラ", "ガス", "カ"),
        ("мои книги", "мой дом", "мои"),
        ("محمد", "مُحَمَّد", "محمد"),
        ("x 1", "x²", '"x"'),
        ("οδός σ", "οδός ς", "σ"),
        ("İstanbul", "istanbul", "ist"),
        ("Straße", "Strasse", "stras"),
        ("हिन्दी", "हिन्दीभाषा", '"हिन्दी"'),
    ],
)
def test_windows_of_a_search_have_what_the_index_finds_in_every_script(
    store: SessionStore, older: str, newer: str, search: str
) -> None:
    for number in range(3):
        session = store.sessions.create(f"{older} {number}", title="all").id
        store.sessions.add_tag(session, newer)
    whole = store.sessions.ids(SessionFilter(search=search))
    assert len(whole) == 3
    for criteria in (SessionFilter(search=search), SessionFilter(search=f"all {search}")):
        windows, after = [], None
        for _ in whole:
            page = store.sessions.window(criteria, after=after, most=1)
            windows, after = [*windows, *page.ids], page.further
        assert (tuple(windows), after) == (whole, None)


@pytest.mark.parametrize("word", ["한국어", "чёрный", "Ελλάς", "ガス欠です", "Việtnam", "नमस्ते", "naïveté"])
def test_a_word_is_found_by_itself_and_by_each_beginning_of_some_letters(
    store: SessionStore, word: str
) -> None:
    session = store.sessions.create(word, title="all").id
    for length in range(2, len(word) + 1):
        assert store.sessions.ids(SessionFilter(search=word[:length])) == (session,), length


def test_a_place_that_is_none_is_refused(store: SessionStore) -> None:
    session = store.sessions.create("question").id
    for place in ("nowhere", "x~y", f"nan{session}", "~", ""):
        for search in ("", "question"):
            with pytest.raises(StorageError, match="no place in this list"):
                store.sessions.window(SessionFilter(search=search), after=place)
    with pytest.raises(StorageError, match="no place in this list"):
        store.sessions.window(SessionFilter(search="question"), after=f"{2**63}~")


def test_a_word_is_looked_for_beside_what_few_sessions_have(store: SessionStore) -> None:
    moon, sun = store.sessions.create("The moon").id, store.sessions.create("The sun").id
    store.sessions.add_tags([moon, sun], ["rare"])
    for search in ("moon", "mo", "the moon", '"the moon"'):
        assert store.sessions.ids(SessionFilter(search=search, tags=("rare",))) == (moon,), search


def test_a_search_lists_first_what_was_written_last(store: SessionStore) -> None:
    first, second = store.sessions.create("moon one").id, store.sessions.create("moon two").id
    begin(store, first, "r1")
    keep(store, finished("r1", seq=0, answer="The moon."))
    store.sessions.add_tag(second, "touched")
    assert store.sessions.ids(SessionFilter(search="moon")) == (first, second)


# -- the index ---------------------------------------------------------------------------------------


FACETS = """
    SELECT facets.kind, name, CASE WHEN origin = 'evaluation' THEN 1 ELSE 0 END, updated_at, id FROM (
        SELECT 'state' AS kind, state AS name, id AS session FROM sessions
        UNION SELECT 'topology', topology, sessions.id FROM sessions JOIN revisions ON revisions.id = head
        UNION SELECT 'worker', worker, sessions.id FROM sessions JOIN revision_workers ON revision = head
        UNION SELECT 'tag', tag, session FROM tags
        UNION SELECT 'token', token, session FROM api_requests WHERE token IS NOT NULL
    ) AS facets JOIN sessions ON sessions.id = session
"""
SUMS_STORED = "SELECT session, calls, prompt, tokens_unknown, costs_unknown FROM session_sums"
SUMS = """
    SELECT session, COUNT(*), SUM(COALESCE(prompt, 0)), COUNT(*) - COUNT(prompt + completion),
        COUNT(*) - COUNT(cost)
    FROM charges WHERE session IN (SELECT id FROM sessions) GROUP BY session
"""


def drift(url: str) -> list[tuple[Any, ...]]:
    """What the index holds and should not, or the reverse; SQLite itself compares the words."""
    database = Database(url)
    with database.transaction(to="write") as connection:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(sqlalchemy.text(query))]

        texts, expected = rows("SELECT session, kind, text FROM texts"), rows("SELECT * FROM said")
        workers = rows("SELECT revision, worker FROM revision_workers")
        named = rows("SELECT DISTINCT revision, worker FROM revision_steps")
        facets = rows("SELECT kind, name, evaluated, updated_at, session FROM session_facets"), rows(FACETS)
        sums = (
            rows("SELECT session, calls, prompt, tokens_unknown, costs_unknown FROM session_sums"),
            rows(SUMS),
        )
        if connection.dialect.name == "sqlite":
            # Raises where the full-text index does not fit the texts.
            connection.execute(
                sqlalchemy.text("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
            )
    database.close()
    twice = [row for row in set(texts) if texts.count(row) > 1]
    pairs = ((texts, expected), (workers, named), facets, sums)
    return [*twice, *(row for one, other in pairs for row in set(one) ^ set(other))]


def remove(url: str, session: str, *, whole: bool) -> None:
    """Take a session's newest run away, or all of the session, behind the store's back."""
    newest = "SELECT id FROM runs WHERE session = :session ORDER BY number DESC LIMIT 1"
    every = (
        "DELETE FROM outputs WHERE session = :session",
        "DELETE FROM runs WHERE session = :session",
        "UPDATE revisions SET parent = NULL WHERE session = :session",
        "DELETE FROM corrections WHERE session = :session",
        "DELETE FROM notes WHERE session = :session",
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
    st.tuples(
        st.sampled_from("create rename edit answer tag untag note unnote forget".split()), _WORDS, _WORDS
    ),
    max_size=12,
)


@given(deeds=_DEEDS, whole=st.booleans())
@cases(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_done_the_index_is_what_a_rebuild_would_make(
    store: SessionStore, url: str, deeds: Sequence[tuple[str, str, str]], whole: bool
) -> None:
    session = store.sessions.create("first").id
    for number, (deed, one, other) in enumerate(deeds):
        run = f"{session}-{number}"
        match deed:
            case "create":
                session = store.sessions.create(one, title=other).id
            case "rename":
                store.sessions.rename(session, one)
            case "edit":
                store.revisions.add(session, chain(f"{one}.", f"{other}."), origin="human")
            case "answer":
                begin(store, session, run)
                keep(store, charged(step_finished(run, "done", seq=0)))
                keep(store, finished(run, seq=1, answer=one))
            case "tag":
                store.sessions.add_tag(session, f"#{one}")
            case "untag":
                store.sessions.remove_tag(session, f"#{one}")
            case "note":
                note = NoteEntry(id=run, part="question", text=f"{one}!", created_at=0)
                store.notes.add(session, note)
            case "unnote":
                for written in store.notes.of_session(session)[:1]:
                    store.notes.delete(written.id)
                    if other:
                        store.notes.restore(written.id)
            case "forget":
                remove(url, session, whole=False)
    assert drift(url) == []
    remove(url, session, whole=whole)
    assert drift(url) == []
