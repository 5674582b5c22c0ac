"""The text of attached files: of texts and PDFs, within limits, and why there is none."""

from __future__ import annotations

import pytest

from conductor.errors import LimitedProcessError
from conductor.files import file_text as module
from conductor.files.file_text import MAX_FILE, MAX_TEXT, FileReader, FileText
from conductor.limited import command
from conductor.limited.supervisor import Limits
from tests.support.cases.attached_files import busy_pdf, pdf, swelling_pdf


def read(content: bytes) -> FileText:
    return FileReader().read(content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"Rivers.", "Rivers."),
        ("\N{BYTE ORDER MARK}Fluß".encode(), "Fluß"),
        ("Fluß".encode("utf-16"), "Fluß"),
        ("Fluß".encode("utf-32"), "Fluß"),
        (b"<!DOCTYPE html><p>x", "<!DOCTYPE html><p>x"),
        (b"About %PDF-1.4 files", "About %PDF-1.4 files"),
        (b"a\x0cb\rc", "a\x0cb\rc"),
    ],
)
def test_a_text_is_read_by_its_content(content: bytes, text: str) -> None:
    assert read(content) == FileText(text)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it has no text"),
        (b" \n ", "it has no text"),
        (b"\x89PNG\r\n\x1a\n\0\0", "it is an image; send it as an image"),
        (b"\0\0\0\x18ftypheic", "it is an image; send it as an image"),
        (b"a\ncaf\xe9", r"neither a text in UTF-8 nor a PDF \(byte 0xe9 in line 2\)"),
        ("東京".encode("shift-jis"), r"neither a text in UTF-8 nor a PDF \(byte 0x93"),
        ("東京都".encode("utf-16-le"), "neither a text in UTF-8 nor a PDF"),
        ("東\0".encode("utf-16"), r"neither a text in UTF-8 nor a PDF \(byte 0x00 in line 1\)"),
        (b"abc\n\ndef\0", "byte 0x00 in line 3"),
        ("Z\u00fcrich".encode("utf-16-le"), "looks like text in UTF-16-LE without a mark"),
        ("Z\u00fcrich".encode("utf-16-be"), "looks like text in UTF-16-BE without a mark"),
        (b"{\\rtf1 Hello}", "it is RTF; save it as text"),
        (b"PK\x03\x04\0", "of Excel, Word or LibreOffice"),
        (b"\xd0\xcf\x11\xe0", "an old Excel, Word or Outlook"),
        *(
            (beginning, "it is a sound or a video; send its words as a text")
            for beginning in (
                b"\0\0\0\x18ftypmp42",
                b"\0\0\0\x20ftypM4A ",
                b"ID3\4\0\0",
                b"OggS\0\2",
                b"RIFF\x24\0\0\0WAVEfmt ",
                b"fLaC\0\0\0\x22",
                b"\x1a\x45\xdf\xa3\x9f",
            )
        ),
        (b"\x1f\x8b\x08", "packed by gzip; unpack it"),
        (b"7z\xbc\xaf\x27\x1c", "an archive; unpack it"),
        (bytes(64), "zeros at its beginning"),
        (b"x" * (MAX_FILE + 1), "the limit is"),
    ],
)
def test_what_has_no_readable_text_is_refused_with_the_reason(content: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read(content)


def test_a_long_text_is_cut_and_states_so() -> None:
    file = read(b"x" * (MAX_TEXT + 1))
    assert (len(file.text), file.cut) == (MAX_TEXT, "only its first 400,000 characters")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (pdf("First page", "Second page"), FileText("First page\n\nSecond page")),
        (
            pdf(*(f"Page {number}" for number in range(201))),
            FileText(
                "\n\n".join(f"Page {number}" for number in range(200)), cut="only the first 200 of 201 pages"
            ),
        ),
        (pdf("x" * 500_000), FileText("x" * MAX_TEXT, cut="only its first 400,000 characters")),
    ],
)
def test_a_pdf_is_read_in_a_process_of_its_own(content: bytes, expected: FileText) -> None:
    assert read(content) == expected


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (pdf(""), "it has no text. A scan has none either"),
        (pdf("secret", password="key"), "it needs a password"),
        (b"%PDF-1.7\nnothing more", "cannot be read as a PDF"),
        (b"\xff\xfb HTTP/1.1 200 OK\r\n\r\n%PDF-1.7\nnothing more", "cannot be read as a PDF"),
        (swelling_pdf(), "it needs too much memory"),
    ],
)
def test_a_pdf_without_readable_text_is_refused_with_the_reason(content: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read(content)


@pytest.mark.thorough
def test_all_pdfs_that_are_sent_together_have_their_seconds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(seconds=1.0, memory=module.PDF_LIMITS.memory, output=module.PDF_LIMITS.output)
    monkeypatch.setattr(module, "PDF_LIMITS", limits)
    reader = FileReader()
    with pytest.raises(ValueError, match=r"cannot be read as a PDF \(stopped after 1 s\)"):
        reader.read(busy_pdf())
    with pytest.raises(ValueError, match="the PDFs before it took 1 s; send it by itself"):
        reader.read(pdf("small"))
    assert reader.read(b"Rivers.") == FileText("Rivers.")


@pytest.mark.thorough
def test_a_machine_without_a_process_for_it_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.supervisor, "__file__", "/nowhere/supervisor.py")
    with pytest.raises(LimitedProcessError, match="See to this machine"):
        read(pdf("whole"))
