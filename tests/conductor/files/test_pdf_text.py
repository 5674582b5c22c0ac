"""The text of a PDF, and why there is none."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.files import pdf_text as module
from conductor.files.pdf_text import MAX_PAGES, pdf_text
from tests.support.cases.attached_files import pdf

LONGEST = 1_000_000


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (pdf("First page", "Second page"), ("First page\n\nSecond page", 2, 2)),
        (b"\n\n" + pdf("After a mark"), ("After a mark", 1, 1)),
        (pdf("Open to all", password=""), ("Open to all", 1, 1)),
        (pdf(""), ("", 1, 1)),
    ],
)
def test_the_text_of_its_pages_is_read(content: bytes, expected: tuple[str, int, int]) -> None:
    assert pdf_text(content, longest=LONGEST) == expected


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (pdf("secret", password="key"), "it needs a password"),
        (b"%PDF-1.7\nnothing more", "cannot be read as a PDF"),
        (pdf("whole")[:200], "cannot be read as a PDF"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(content: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as refused:
        pdf_text(content, longest=LONGEST)
    assert "secret" not in str(refused.value)


@pytest.mark.slow
def test_a_pdf_of_many_pages_is_read_in_part() -> None:
    text, read, pages = pdf_text(pdf(*(f"Page {number}" for number in range(500))), longest=LONGEST)
    assert (read, pages) == (MAX_PAGES, 500)
    assert text.endswith(f"Page {MAX_PAGES - 1}")


def test_a_slow_pdf_is_left_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", -1.0)
    assert pdf_text(pdf("never begun"), longest=LONGEST) == ("", 0, 1)


def test_a_long_pdf_is_read_until_it_is_too_long() -> None:
    assert pdf_text(pdf("12345", "67890", "never begun"), longest=8) == ("12345\n\n67", 2, 3)


@pytest.mark.slow
@given(st.binary(max_size=300), st.integers(0, 900))
def test_a_damaged_pdf_is_a_fault_of_the_file_and_nothing_else(noise: bytes, at: int) -> None:
    whole = pdf("Some text")
    with contextlib.suppress(ValueError):
        pdf_text(whole[:at] + noise + whole[at + len(noise) :], longest=LONGEST)
