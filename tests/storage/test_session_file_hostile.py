"""Files that are wrong are refused with a sentence, quickly, whatever somebody wrote into them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile_files import CASES, DELTA, OUTPUT, REVISION, RUN, SESSION, file_of
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import FormatError
from storage import SessionStore
from storage.session_file import import_session, look_into
from storage.session_file.cursor import Cursor

ROOT = Path(__file__).parents[2]

MOST_SECONDS = 2.0
"""Twice what is promised, for the slowest machine that tests run on."""

MOST_BYTES = 100_000_000

PLAN: dict[str, Any] = {"id": "p", "created_at": 1.0, "planner": "c", "planner_kind": "model", "usage": {}}
END: dict[str, Any] = {
    "type": "run_finished", "run": "run", "seq": 1, "at": 1.0, "outcome": "finished", "answer": None,
    "answer_step": None,
}  # fmt: skip
RIGHT: dict[str, Any] = {"revisions": [REVISION], "runs": [RUN]}


def refusal(data: bytes | str) -> str:
    """Why the file is not imported."""
    with pytest.raises(FormatError) as caught:
        look_into(data, workers=["w"])
    return str(caught.value)


@pytest.mark.slow
def test_hostile_files_cost_little() -> None:
    program = [sys.executable, str(Path(__file__).with_name("hostile_files.py"))]
    told = subprocess.run(
        program,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    ).stdout
    costs = [json.loads(line) for line in told.splitlines()]
    assert [cost["case"] for cost in costs] == list(CASES)
    dear = [
        cost
        for cost in costs
        if not cost["said"] or cost["seconds"] > MOST_SECONDS or cost["bytes"] > MOST_BYTES
    ]
    assert not dear


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({"revisions": [{**REVISION, "parent": "r"}]}, "in a circle"),
        (
            {
                "revisions": [{**REVISION, "looks_back": "run"}],
                "runs": [RUN],
            },
            "in a circle: ",
        ),
        ({"revisions": [{**REVISION, "parent": "gone"}]}, "revisions 'gone', which are not there"),
        ({"runs": [RUN]}, "revisions 'r', which are not there"),
        ({"session": {**SESSION, "head": "gone"}}, "revisions 'gone'"),
        ({"ratings": [{"run": "gone", "thumbs": "up", "rated_at": 1.0}]}, "runs 'gone'"),
        ({"events": [DELTA]}, "runs 'run'"),
        ({"revisions": [REVISION, REVISION]}, "two of its revisions under the id 'r'"),
        ({"outputs": [OUTPUT, OUTPUT]}, "two outputs for 'f'"),
        ({**RIGHT, "events": [{**DELTA, "seq": 1}, DELTA]}, "out of order: 0 comes after 1"),
        ({**RIGHT, "events": [DELTA, DELTA]}, "out of order"),
        ({**RIGHT, "events": [{**DELTA, "seq": -1}]}, "out of order"),
        ({**RIGHT, "events": [DELTA, END]}, "is running, which its events do not tell"),
        ({"revisions": [REVISION], "runs": [{**RUN, "status": "finished"}]}, "its events do not tell"),
        ({"session": {**SESSION, "title": 5}}, "'session.title' is wrong"),
        ({"session": {**SESSION, "state": "won"}}, "'session.state' is wrong"),
        ({"session": {**SESSION, "owner": "me"}}, "'session.owner', which this version"),
        ({"session": {**SESSION, "created_at": "soon"}}, "'session.created_at' is wrong"),
        ({"session": [SESSION]}, "it must be an object"),
        ({"plans": {}}, "'[' is missing"),
        ({"plans": [{**PLAN, "planner_kind": "ghost"}]}, "'plans.1.planner_kind' is wrong"),
        ({"events": [{**DELTA, "type": "step_dreamt"}]}, "step_dreamt"),
        ({"session": {**SESSION, "tags": [" "]}}, "'session.tags.0' is wrong"),
        ({"outputs": [{**OUTPUT, "fingerprint": sign} for sign in "\0\ufffd"]}, "two outputs"),
        ({"notes": []}, "'notes', which this version"),
        (
            {"revisions": [{**REVISION, "workflow": {"steps": []}}]},
            "revisions.1' has a workflow that is not valid",
        ),
        (
            {
                "revisions": [
                    {**REVISION, "workflow": {"steps": [{"instruction": "do", "worker": "w", "access": [0]}]}}
                ]
            },
            "revisions.1' has a workflow that is not valid",
        ),
        ({"revisions": [{**REVISION, "note": "\ud800"}]}, "half a character"),
    ],
)
def test_what_does_not_fit_together_is_refused(sections: dict[str, Any], why: str) -> None:
    assert why in refusal(file_of(**sections))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is missing in line 1"),
        (b"[]", "'{' is missing"),
        (b"{}", "neither a session nor a workflow"),
        (b'{"format": "other"}', "neither a session nor a workflow"),
        (b'{"version": 1, "format": "conductor-session"}', "must begin with"),
        (b'{"format": "conductor-session"}', "does not say its version"),
        (b'{"format": "conductor-session", "version": 1}', "holds no session"),
        (file_of() + b" 1", "Something follows the end"),
        (file_of().replace(b'"title"', b'"title": "t", "title"'), "'title' twice"),
        (file_of()[:-1] + b', "session": 1}', "'session' twice"),
        (file_of().replace(b"1.0", b"NaN"), "NaN in the place of a number"),
        (file_of().replace(b"1.0", b"1e999"), "too large"),
        (file_of().replace(b"1.0", b"1" * 5000), "too long"),
        (file_of().replace(b'"t"', b'"\xff"'), "not text in UTF-8"),
        (file_of().replace(b'"t"', b'"\\x"'), "not JSON as it should be"),
        (file_of()[:-2], "ends too early"),
        (file_of().decode("utf-8").encode("utf-16"), "'{' is missing"),
        ('{"format": "\ud800"}', "not text in UTF-8"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(data: bytes | str, why: str) -> None:
    assert why in refusal(data)


def test_nothing_is_kept_of_a_file_that_is_refused(store: SessionStore) -> None:
    with pytest.raises(FormatError):
        import_session(store, file_of(revisions=[REVISION], runs=[RUN], events=[DELTA, DELTA]))
    assert store.count_sessions() == 0


def test_a_byte_order_mark_and_other_spaces_do_no_harm(store: SessionStore) -> None:
    document = json.loads(file_of(**RIGHT, events=[DELTA]))
    text = json.dumps(document, indent=3, ensure_ascii=False).replace("\n", "\r\n")
    assert import_session(store, b"\xef\xbb\xbf" + text.encode()).query == "q"


_PIECES = st.sampled_from(["{", "}", "[", "]", ",", ":", '"', '"a"', "1", "null", "\\", " ", '"format"', "-"])


@given(pieces=st.lists(_PIECES, max_size=12))
def test_any_text_is_read_as_json_is_or_refused(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        expected = json.loads(text)
    except ValueError:
        expected = FormatError
    cursor = Cursor(text.encode())
    try:
        found = cursor.value()
        cursor.finish()
    except FormatError as error:
        found = FormatError
        if "twice" in str(error):
            return
    assert found == expected
