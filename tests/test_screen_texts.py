"""The list of the screen's texts has what people read, and no code."""

from __future__ import annotations

import pytest

from tests.screen_texts import CODE, LABEL, screen_texts, strings_of_python, strings_of_script


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('st.button("Run", help="Runs it")', ["Run", "Runs it"]),
        ('f"{count} steps" " ran"', ["{} steps ran"]),
        ('def named():\n    """A docstring."""\n    return "A text"', ["A text"]),
        ("one = f\"{'' if done else 'not '}yet\"", ["{}yet", "", "not "]),
    ],
)
def test_a_text_of_python_is_listed_once_with_its_values_left_open(source: str, texts: list[str]):
    assert sorted(text for _, text in strings_of_python(source)) == sorted(texts)


def test_a_text_of_a_script_is_listed_with_its_line():
    source = 'const name = "Run";  // "a comment"\nshow(`Step ${number} waits`);'
    assert list(strings_of_script(source)) == [(1, "Run"), (2, "Step {} waits")]


@pytest.mark.parametrize("text", ["Run", "Runs the step", "of {} tokens"])
def test_a_text_for_people_is_no_code(text: str):
    assert LABEL.fullmatch(text)
    assert not CODE.search(text)


@pytest.mark.parametrize("text", ["SELECT id FROM runs", ".graph .hint", "a { color: red; }", "var(--line)"])
def test_code_is_no_text_for_people(text: str):
    assert CODE.search(text) or not LABEL.fullmatch(text)


@pytest.mark.slow
def test_the_list_has_the_texts_of_each_part_of_the_screen():
    names = {name.rsplit("/", 1)[0] for name, _, _ in screen_texts()}
    assert {
        "pages",
        "pages/components/graph",
        "pages/components/workbench/bar",
        "conductor/workflow/lint",
    } <= names
