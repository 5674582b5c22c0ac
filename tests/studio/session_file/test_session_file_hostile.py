"""Files that are wrong are refused with a sentence, quickly, whatever stands in them."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import FormatError
from storage import SessionStore
from tests.studio.session_file.hostile_files import CASES, DELTA, OUTPUT, REVISION, RUN, SESSION
from tests.support.stores.session_files import file_of, imported, previewed
from tests.support.stores.store_scenario import by_fingerprint

ROOT = Path(__file__).parents[3]

MOST_UNITS = 300
"""Of `hostile_files._unit`: what reading three million entries of an honest file costs."""

MOST_BYTES = 100_000_000

PLAN: dict[str, Any] = {"id": "p", "created_at": 1.0, "planner": "c", "planner_kind": "model", "usage": {}}
END: dict[str, Any] = {
    "type": "run_finished", "run": "run", "seq": 1, "at": 1.0, "outcome": "finished", "answer": None,
    "answer_step": None,
}  # fmt: skip
RIGHT: dict[str, Any] = {"revisions": [REVISION], "runs": [RUN]}


def refusal(data: bytes) -> str:
    """Why the file is not imported."""
    with pytest.raises(FormatError) as caught:
        previewed(data)
    return str(caught.value)


def lines_of(sections: dict[str, Any]) -> bytes:
    """The same in version 2."""
    entries: list[dict[str, Any]] = [{"session": sections.get("session", SESSION)}]
    for name, section in sections.items():
        if name != "session":
            entries += [{name.removesuffix("s"): entry} for entry in section]
    return file_of(*entries)


@pytest.mark.thorough
def test_hostile_files_cost_little() -> None:
    program = [sys.executable, str(Path(__file__).with_name("hostile_files.py"))]
    output = subprocess.run(
        program,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        encoding="utf-8",
        timeout=120,
    ).stdout
    costs = [json.loads(line) for line in output.splitlines()]
    assert [cost["case"] for cost in costs] == list(CASES)
    assert not [
        cost
        for cost in costs
        if not cost["refusal"] or cost["units"] > MOST_UNITS or cost["bytes"] > MOST_BYTES
    ]


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
        (
            {"revisions": [{**REVISION, "parent": "gone"}]},
            "the revision 'gone' that it refers to is not in the file",
        ),
        ({"runs": [RUN]}, "the revision 'r' that it refers to is not in the file"),
        ({"session": {**SESSION, "head": "gone"}}, "the revision 'gone'"),
        ({"ratings": [{"run": "gone", "thumbs": "up", "rated_at": 1.0}]}, "the run 'gone'"),
        ({"events": [DELTA]}, "the run 'run'"),
        ({"revisions": [REVISION, REVISION]}, "it is the second revision for 'r'"),
        ({"outputs": [OUTPUT, OUTPUT]}, "it is the second output for 'f'"),
        ({**RIGHT, "events": [{**DELTA, "seq": 1}, DELTA]}, "event 0 of the run 'run' comes after 1"),
        ({**RIGHT, "events": [DELTA, DELTA]}, "comes after"),
        ({**RIGHT, "events": [{**DELTA, "seq": -1}]}, "comes after"),
        ({**RIGHT, "events": [DELTA, END]}, "is running, which its events do not show"),
        ({"revisions": [REVISION], "runs": [{**RUN, "status": "finished"}]}, "its events do not show"),
        ({"session": {**SESSION, "title": 5}}, "'session.title' is wrong"),
        ({"session": {**SESSION, "state": "won"}}, "'session.state' is wrong"),
        ({"session": {**SESSION, "owner": "me"}}, "'session.owner', which this version"),
        ({"session": {**SESSION, "created_at": "soon"}}, "'session.created_at' is wrong"),
        ({"plans": [{**PLAN, "planner_kind": "ghost"}]}, "'plan.planner_kind' is wrong"),
        ({"events": [{**DELTA, "type": "step_dreamt"}]}, "step_dreamt"),
        ({"session": {**SESSION, "tags": [" "]}}, "'session.tags.0' is wrong"),
        ({"outputs": [{**OUTPUT, "fingerprint": sign} for sign in "\0\ufffd"]}, "the second output"),
        ({"notes": [{}]}, "'note"),
        (
            {"revisions": [{**REVISION, "workflow": {"steps": []}}]},
            "has a workflow that is not valid",
        ),
        (
            {
                "revisions": [
                    {**REVISION, "workflow": {"steps": [{"instruction": "do", "worker": "w", "access": [0]}]}}
                ]
            },
            "has a workflow that is not valid",
        ),
        ({"revisions": [{**REVISION, "note": "\ud800"}]}, "half a character"),
    ],
)
def test_what_does_not_fit_together_is_refused(sections: dict[str, Any], why: str) -> None:
    assert why in refusal(lines_of(sections))


RIGHT_LINES = lines_of({**RIGHT, "events": [DELTA]})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "neither a session nor a workflow"),
        (b"[]", "neither a session nor a workflow"),
        (b"{}", "neither a session nor a workflow"),
        (b'{"format": "other"}', "neither a session nor a workflow"),
        (b'{"version": 1, "format": "conductor-session"}', "has version 1; this program reads version 2"),
        (b'{"sessions":1,"version":"2","format":"conductor-session"}', "version is not a whole number"),
        (b'{"query":{"format":"conductor-session"}}', "neither a session nor a workflow"),
        (gzip.compress(RIGHT_LINES, mtime=0), "it is packed by gzip; unpack it"),
        (bytes(64), "zeros at its beginning"),
        (b'[{"format": "conductor-session"}]', "begins with '[{"),
        (RIGHT_LINES.replace(b"\n", b"\r"), "Line 1 is not one object"),
        (b"\n" + RIGHT_LINES, "Line 1 is empty; remove it"),
        (RIGHT_LINES.replace(b"{", b"{\n", 1), "on one line that ends with LF or CR LF"),
        (b'{"format": "conductor-session"}', "version is not a whole number"),
        (b'{"format": "\xed\xa0\xbd"}', "neither a session nor a workflow"),
        (RIGHT_LINES.decode().encode("utf-16"), "it is text in UTF-16: save it as UTF-8"),
        (b'{"format": "conductor-session", "version": 1}', "has version 1; this program reads version 2"),
        (b'{"format": "conductor-session", "version": 3}', "has version 3; this program reads version 2"),
        (b'{"format": "conductor-sessions", "version": 1, "sessions": []}', "neither a session nor"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(data: bytes, why: str) -> None:
    assert why in refusal(data)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"sessions": 1', '"sessions": 2', "Line 6 ends a file of 6 lines, and 1 of 2 sessions"),
        ('"lines": 6', '"lines": 7', "line 6 ends a file of 7 lines, and 1 of 1 sessions are there"),
        ('"sessions": 1', '"sessions": true', "Line 1: 'header.sessions' is wrong"),
        ('"sessions": 1', '"sessions": 1, "more": 1', "Line 1 has 'header.more', which this version"),
        ('"title"', '"title": "t", "title"', "Line 2 names 'title' twice"),
        ('{"session"', '{"run": {}, "session"', "Line 2 is wrong: it must be one object with one member"),
        ('{"revision"', '["revision"], {"revision"', "Line 3 is not JSON"),
        ('{"revision"', '{"notes"', "Line 3 has 'notes', which this version"),
        ('{"run"', '{"rum"', "Line 4 has 'rum'"),
        ('"status"', '"owner": 5, "status"', "Line 4 has 'run.owner'"),
        ('"seq"', '"seq": "x", "seq"', "Line 5 names 'seq' twice"),
        ('"seq": 0', '"seq": "x"', "Line 5: 'event.step_delta.seq' is wrong"),
        ('"at": 1.0', '"at": NaN', "Line 5 has NaN in the place of a number"),
        ('"at": 1.0', '"at": 1e999', "too large"),
        ('"at": 1.0', f'"at": {"1" * 5000}', "Line 5 cannot be read: it has a whole number"),
        (
            '"text": ""',
            '"text": {"$text": "a"}',
            "Line 5 refers to the text 'a', which no line before it has",
        ),
        ('"text": ""', '"text": {"$text": ["a"]}', "which no line before it has"),
        ('"text": ""', '"text": "\\ud800"', "Line 5 has half a character"),
        ('"text": ""', '"text": "\udcff"', "Line 5 is not text in UTF-8"),
        ('{"event"', '\n{"event"', "Line 5 is empty; remove it"),
        ('{"event"', '<<<<<<< HEAD\n{"event"', "Line 5 is not JSON: Expecting value at column 1"),
        ('{"lines": 6}}', '{"lines": 6}}\n{}', "line 6 ends the file, and more follows: b'{}"),
        ('{"lines": 6}}', '{"lines": 6}}\n\0\0', r"more follows: b'\x00\x00"),
        ('{"end": {"lines": 6}}\n', "", "it ends in line 6, and its last line is missing"),
    ],
)
def test_what_is_wrong_in_a_line_is_refused_with_its_number(old: str, new: str, why: str) -> None:
    text = RIGHT_LINES.decode()
    assert text.count(old) == 1 or old in ('"title"', '"status"')
    data = text.replace(old, new, 1).encode("utf-8", "surrogateescape")
    assert why.lower() in refusal(data).lower()


def test_entries_stand_in_their_order() -> None:
    session, revision, run = {"session": SESSION}, {"revision": REVISION}, {"run": RUN}
    assert "Line 2 is wrong: a session begins with" in refusal(file_of(revision, session))
    assert "Line 4 is wrong: a session's runs come after" in refusal(file_of(session, run, revision))


def test_nothing_is_kept_of_a_file_that_is_refused(store: SessionStore) -> None:
    for data in (
        lines_of({**RIGHT, "events": [DELTA, DELTA]}),
        lines_of({**RIGHT, "events": [DELTA]})[:-10],
    ):
        with pytest.raises(FormatError):
            imported(store, data)
    assert store.sessions.count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + RIGHT_LINES.replace(b"\n", b"\r\n"),
        RIGHT_LINES.rstrip(),
        RIGHT_LINES.rstrip() + b" ",
        RIGHT_LINES + b"\n",
        RIGHT_LINES + b"\n \r\n\t",
        RIGHT_LINES + b"\x1a",
        RIGHT_LINES.replace(b"\n", b" \n"),
        b" " + RIGHT_LINES,
        b"".join(
            json.dumps(json.loads(line), sort_keys=True).encode() + b"\n" for line in RIGHT_LINES.splitlines()
        ),
        b"".join(
            json.dumps(json.loads(line), separators=(",", ":")).encode() + b"\n"
            for line in RIGHT_LINES.splitlines()
        ),
        re.sub(rb"^.*\n", b'{"version":2,"sessions":1,"format":"conductor-session"}\n', RIGHT_LINES),
    ],
)
def test_what_editors_and_formatters_change_does_no_harm(store: SessionStore, data: bytes) -> None:
    assert imported(store, data).query == "q"


def test_a_text_that_a_person_edited_in_the_file_is_imported_as_it_is(store: SessionStore) -> None:
    text = {"text": {"id": "a", "text": "short"}}
    output = {"output": {**OUTPUT, "text": {"$text": "a"}}}
    copy = imported(store, file_of({"session": SESSION}, {"revision": REVISION}, {"run": RUN}, text, output))
    assert by_fingerprint(store.runs.outputs(copy.id))["f"].text == "short"
