"""A run in one file: it replays, holds its session, is imported like a session file, and is small."""

from __future__ import annotations

import re
from io import BytesIO

import pytest

from conductor.errors import FormatError, StorageError
from storage import SessionStore
from studio.session_file import holds_sessions, newest_run, run_page
from studio.session_file.one_file import lines_in
from tests.support.cases.hostile_markdown import RUNS
from tests.support.stores.recorded_page import FILE, recorded_page
from tests.support.stores.session_files import exported, imported, lines_of, previewed
from tests.support.stores.session_history import lived
from tests.support.stores.store_scenario import (
    begin,
    chain,
    delta,
    finished,
    keep,
    started,
    step_finished,
    step_started,
)

HOSTILE = "</script><!-- <script> \u2028 {\"end\":{}} \\<b> 'x' & " + "\n".join(
    run for run in RUNS.values() if not re.search("[\0\ud800-\udfff]", run)
)


def page_of(store: SessionStore, session: str) -> bytes:
    """The session's newest run in one file."""
    return run_page(store, newest_run(store, session), now=9.0).encode()


@pytest.mark.parametrize("text", ["plain", HOSTILE], ids=["plain", "hostile"])
def test_a_run_in_one_file_becomes_its_session_again(store: SessionStore, text: str) -> None:
    session = lived(
        store,
        [("plan", 0, "first"), ("edit", 1, "pinned"), ("run", 1, text), ("run", 3, "two")],
        query=f"Why? {text}",
    )
    page, file = page_of(store, session), exported(store, session)
    assert holds_sessions(BytesIO(page))
    [preview], [expected] = previewed(page).sessions, previewed(file).sessions
    assert preview == expected
    lines = lines_in(BytesIO(page))
    lines.seek(0)
    assert lines_of(lines.read()) == lines_of(file)
    copy = imported(store, page)
    assert copy.query == f"Why? {text}"
    assert [run.status for run in store.runs.of_session(copy.id)] == [
        run.status for run in store.runs.of_session(session)
    ]


def test_nothing_in_a_session_ends_the_element_that_holds_it(store: SessionStore) -> None:
    page = page_of(store, lived(store, [("run", 1, HOSTILE)], query=HOSTILE))
    _, lines = page.split(b'<script type="application/json" id="session">\n')
    assert lines.count(b"<") == 3, "the ends of the element, the body and the page"


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (b"<!doctype html><p>A page of others.", "This page has no session"),
        (b"\xef\xbb\xbf <HTML>\n<body>", "This page has no session"),
        (b'<!doctype html>\n<script type="application/json" id="session">\n', "neither a session nor"),
        (
            b'<!doctype html>\n<script type="application/json" id="session">\n{}\n</script>',
            "neither a session",
        ),
    ],
)
def test_a_page_without_a_session_is_refused_with_one_sentence(page: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        previewed(page)


def test_a_page_that_was_cut_off_is_not_whole(store: SessionStore) -> None:
    page = page_of(store, lived(store, [("run", 1, "one")]))
    with pytest.raises(FormatError, match="The file is not complete"):
        previewed(page[: page.index(b'{"end"')])


def test_a_page_with_other_line_ends_is_imported(store: SessionStore) -> None:
    page = page_of(store, lived(store, [("run", 1, "one")]))
    assert previewed(page.replace(b"\n", b"\r\n")).sessions == previewed(page).sessions


def test_more_than_a_page_may_hold_is_not_read(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(store, lived(store, [("run", 1, "one")]))
    monkeypatch.setattr("studio.session_file.one_file._MOST", 100)
    with pytest.raises(FormatError, match="has more than 100 bytes, too large for a run in one file"):
        previewed(page)


def test_a_session_that_is_too_large_is_left_out_as_the_page_states(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = lived(store, [("run", 1, "one")])
    monkeypatch.setattr("studio.session_file.one_file.MAX_SESSION", 100)
    page = page_of(store, session)
    assert b"The session itself is too large to be in this file" in page
    with pytest.raises(FormatError, match="This page has no session"):
        previewed(page)


def test_a_session_without_a_run_has_no_page(store: SessionStore, session: str) -> None:
    with pytest.raises(StorageError, match="has no run to report"):
        page_of(store, session)


@pytest.mark.slow
def test_ten_steps_of_text_are_under_a_megabyte(store: SessionStore, session: str) -> None:
    store.revisions.add(session, chain(*(f"Write part {step}." for step in range(10))), origin="human")
    head = store.revisions.head(session)
    assert head is not None
    begin(store, session, "run")
    words, pieces = "Six words that a model wrote. ", 150
    events = [started("run", head.workflow)]
    for step in range(10):
        at = 2.0 + step * pieces / 10
        events.append(step_started("run", seq=len(events), step=step).model_copy(update={"at": at}))
        for piece in range(pieces):
            own = {"at": at + piece / 10, "step": step}
            events.append(delta("run", seq=len(events), text=words).model_copy(update=own))
        done = step_finished("run", words * pieces, seq=len(events), step=step, fingerprint=f"f{step}")
        events.append(done.model_copy(update={"at": at + pieces / 10}))
    end = finished("run", seq=len(events), answer=words * pieces)
    keep(store, *events, end.model_copy(update={"at": 160.0, "answer_step": 9}))
    page = page_of(store, session)
    assert page.count(words.encode()) > 10 * pieces, "all of it is there"
    assert 200_000 < len(page) < 1_000_000


@pytest.mark.slow
def test_the_run_that_readme_links_is_as_the_program_writes_it() -> None:
    page = FILE.read_text(encoding="utf-8")
    assert page == recorded_page(), "write it again: see tests/support/stores/recorded_page.py"
    assert len(page.encode()) < 1_000_000
    assert f"docs/{FILE.name}" in (FILE.parents[1] / "README.md").read_text(encoding="utf-8")
