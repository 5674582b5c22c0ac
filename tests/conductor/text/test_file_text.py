"""The text of attached files: of texts and PDFs, within limits, and why there is none."""

from __future__ import annotations

import contextlib

import pytest
from attached_files import pdf
from hypothesis import given
from hypothesis import strategies as st

from conductor.text import file_text as module
from conductor.text.file_text import MAX_FILE, MAX_PAGES, MAX_TEXT, FileText, file_text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"Rivers.", "Rivers."),
        ("\N{BYTE ORDER MARK}Fluß".encode(), "Fluß"),
        ("Fluß".encode("utf-16"), "Fluß"),
        (pdf("First page", "Second page"), "First page\n\nSecond page"),
        (b"\n\n" + pdf("After a mark"), "After a mark"),
        (pdf("Open to all", password=""), "Open to all"),
    ],
)
def test_a_text_and_a_pdf_are_read_by_their_content(content: bytes, text: str) -> None:
    assert file_text(content) == FileText(text)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it has no text"),
        (b" \n ", "it has no text"),
        (pdf(""), "it has no text. A scan has none either"),
        (b"\x89PNG\r\n\x1a\n\0\0", "neither a text in UTF-8 nor a PDF"),
        (b"caf\xe9", "neither a text in UTF-8 nor a PDF"),
        (b"PK\x03\x04\0", "neither a text in UTF-8 nor a PDF"),
        (pdf("secret", password="key"), "it needs a password"),
        (b"%PDF-1.7\nnothing more", "cannot be read as a PDF"),
        (pdf("whole")[:200], "cannot be read as a PDF"),
        (b"x" * (MAX_FILE + 1), "the limit is"),
    ],
)
def test_what_has_no_readable_text_is_refused_with_the_reason(content: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as refused:
        file_text(content)
    assert "secret" not in str(refused.value)


@pytest.mark.slow
def test_a_pdf_of_many_pages_is_read_in_part_and_states_which() -> None:
    found = file_text(pdf(*(f"Page {number}" for number in range(500))))
    assert found.cut == f"only the first {MAX_PAGES} of 500 pages"
    assert found.text.endswith(f"Page {MAX_PAGES - 1}")


def test_a_slow_pdf_is_left_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", -1.0)
    with pytest.raises(ValueError, match="it has no text"):
        file_text(pdf("never begun"))


def test_a_long_text_is_cut_and_states_so() -> None:
    found = file_text(b"x" * (MAX_TEXT + 1))
    assert (len(found.text), found.cut) == (MAX_TEXT, "only its first 400,000 characters")


@pytest.mark.slow
@given(st.binary(max_size=300), st.integers(0, 900))
def test_a_damaged_pdf_is_a_fault_of_the_file_and_nothing_else(noise: bytes, at: int) -> None:
    whole = pdf("Some text")
    with contextlib.suppress(ValueError):
        assert file_text(whole[:at] + noise + whole[at + len(noise) :]).text.strip()
