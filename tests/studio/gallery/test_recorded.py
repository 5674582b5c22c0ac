"""The recorded sessions are files of real runs: they import, they play, and none pretends to be a model."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from conductor.runs.events import StepRetried
from conductor.runs.replay import Recording
from storage import SessionStore
from studio.gallery import RECORDED, open_recorded
from studio.gallery import recorded as module
from studio.session_file import look_into

FILES = Path(module.__file__).parent / "recorded"

every_recording = pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.name)


@pytest.fixture
def store(empty_store: Path, tmp_path: Path):
    file = tmp_path / "conductor.db"
    file.write_bytes(empty_store.read_bytes())
    with SessionStore.open(f"sqlite:///{file}") as store:
        yield store


def test_every_file_is_listed():
    assert {file.stem for file in FILES.iterdir()} == {recorded.name for recorded in RECORDED}


@every_recording
def test_a_recording_has_one_session_of_its_title_that_finished(recorded):
    preview = look_into(BytesIO((FILES / f"{recorded.name}.jsonl").read_bytes()), workers=())
    [session] = preview.sessions
    assert (session.title, session.runs, session.live) == (recorded.title, 1, 0)


@pytest.mark.slow
@every_recording
def test_a_recording_plays_and_its_answers_are_labelled(store, recorded):
    session = open_recorded(store, recorded)
    [run] = store.runs.of_session(session.id)
    recording = Recording.of(store.runs.events(run.id))
    assert recording.seconds > 0.3
    assert recording.at(recording.seconds / 2).live
    end = recording.at(recording.seconds)
    assert end.answered
    kinds = {step.output.worker_kind for step in end.steps}
    assert kinds == {"simulated"}
    assert "no model is called" in str(session.pool_label)
    assert any(isinstance(event, StepRetried) for event in recording.events)


@pytest.mark.slow
def test_a_recording_is_imported_once_and_again_after_it_was_deleted(store):
    first = open_recorded(store, RECORDED[0])
    assert open_recorded(store, RECORDED[0]).id == first.id
    store.sessions.delete(first.id)
    again = open_recorded(store, RECORDED[0])
    assert again.id != first.id
    assert again.title == RECORDED[0].title
