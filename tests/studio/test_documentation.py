"""The documentation is read by sections, and the words of their titles count before those of their texts."""

from __future__ import annotations

import re

import pytest

from studio.documentation import find_sections, sections


def test_each_section_begins_with_its_heading_and_has_no_other():
    assert len(sections()) > 100
    assert len({section.id for section in sections()}) == len(sections())
    for section in sections():
        unfenced = re.sub(r"^(```|~~~).*?^\1", "", section.text, flags=re.M | re.S)
        assert len(re.findall(r"^#{1,3} ", unfenced, re.M)) == 1, section.id
        assert section.text.startswith("#"), section.id


def test_no_section_has_a_picture_or_a_link_that_only_the_documentation_s_own_folder_knows():
    for section in sections():
        assert "<picture" not in section.text, section.id
        assert not re.search(r"\]\((?!https?:)", section.text), section.id


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("rerun what", "Rerun what changed"),
        ("RERUN changed", "Rerun what changed"),
        ("machine token", "This machine's token"),
        ("view-only", "Share a view-only link"),
    ],
)
def test_the_words_of_a_title_find_its_section(query, title):
    assert title in [section.title for section in find_sections(query, limit=3)]


def test_the_words_of_a_text_find_it_after_those_that_are_named_so_and_nothing_finds_nothing():
    assert "Where did the time go?" in [each.title for each in find_sections("critical path", limit=6)]
    assert find_sections("", limit=6) == []
    assert find_sections("xyzzy nobody wrote", limit=6) == []
