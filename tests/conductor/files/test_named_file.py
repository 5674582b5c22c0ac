"""A named file is read no further than its kind may go, whatever stands behind the name."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from conductor.errors import FormatError
from conductor.files.named_file import STDIN, read_bounded


def read(place: Path | str) -> bytes:
    return read_bounded(place, most=10, kind="a note")


@pytest.mark.parametrize("content", [b"", b"x", b"0123456789"])
def test_a_file_that_is_not_too_long_is_read_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "note"
    file.write_bytes(content)
    assert read(file) == content


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("long", "long has more than 10 bytes, the most for a note; choose another file."),
        ("/dev/zero", "/dev/zero has more than 10 bytes, the most for a note; choose another file."),
        (".", "cannot be read: Is a directory."),
        ("none", "none cannot be read: No such file or directory."),
        ("pipe", "pipe cannot be read: nothing writes to it; name a file."),
    ],
)
def test_what_is_no_file_of_the_kind_is_refused_in_a_sentence(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "long").write_bytes(b"0123456789x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError) as caught:
        read(tmp_path / name)
    assert str(caught.value).endswith(reason)


def test_no_more_of_a_device_is_read_than_shows_that_it_is_too_long() -> None:
    with pytest.raises(FormatError, match="more than 3,000 bytes"):
        read_bounded(Path("/dev/zero"), most=3_000, kind="a note")


@pytest.mark.slow
@pytest.mark.parametrize(("pieces", "late"), [((b"01", b"23"), False), ((b"01", b"23"), True), ((), True)])
def test_a_pipe_that_a_person_writes_to_is_read_to_its_end(pieces: tuple[bytes, ...], late: bool) -> None:
    out, into = os.pipe()

    def write() -> None:
        for piece in pieces:
            os.write(into, piece)
        os.close(into)

    writer = threading.Timer(0.05 if late else 0, write)
    writer.start()
    try:
        assert read(f"/dev/fd/{out}") == b"".join(pieces)
    finally:
        writer.join(60)
        os.close(out)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"0123456789x", "stdin has more than 10 bytes, the most for a note; choose another file."),
        (None, "stdin cannot be read: nothing writes to it; name a file."),
    ],
)
def test_stdin_has_the_same_end(monkeypatch: pytest.MonkeyPatch, content: bytes | None, reason: str) -> None:
    stdin = None if content is None else SimpleNamespace(buffer=io.BytesIO(content))
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(FormatError) as caught:
        read(STDIN)
    assert str(caught.value) == reason


def test_in_messages_a_file_is_called_what_it_is_to_the_reader(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"^The list cannot be read: Is a directory\.$"):
        read_bounded(tmp_path, most=10, kind="a list", called="The list")
