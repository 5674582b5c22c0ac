"""What is shown of a pool file: its text without pasted keys, and the lines around a fault."""

from __future__ import annotations

import pytest

from conductor.workers.pool.public_text import left_masked, lines_around, mask_keys

KEY = "sk-marked-0123456789"


@pytest.mark.parametrize(
    "line",
    [
        f'api_key = "{KEY}"',
        f"key = '{KEY}'",
        f'"api-key" = "{KEY}"',
        f'api_key_env = "{KEY}"',
        f'OPENAI_API_KEY = "{KEY}"',
        f'extra = {{ seed = 1, Authorization = "{KEY}" }}',
        f'extra.auth_token = "{KEY}"',
        f'password="{KEY}"',
        f'base_url = "https://me:{KEY}@host/v1"',
        f'base_url = "https://host/v1?a=1&api_key={KEY}&b=2"',
    ],
)
def test_a_key_that_was_pasted_is_not_shown(line: str) -> None:
    text = f'[[worker]]\n{line}\nname = "a"\n'
    assert KEY not in mask_keys(text)
    assert "[[worker]]\n" in mask_keys(text)
    assert '\nname = "a"\n' in mask_keys(text)
    assert KEY not in lines_around(text, 2)


@pytest.mark.parametrize(
    "line",
    [
        'api_key_env = "OPENAI_API_KEY"',
        'base_url = "https://api.openai.com/v1"',
        "max_tokens = 100",
        'strengths = "knows every key of the piano"',
        "first_token_seconds = 3",
        'extra = { monkey = "bars" }',
    ],
)
def test_what_is_no_key_is_shown(line: str) -> None:
    assert mask_keys(line) == line


@pytest.mark.parametrize("key", ["AIzaMarked0123456789_ab", "AKIAMARKED0123456789", "sk_marked"])
def test_a_key_that_could_be_the_name_of_a_variable_is_not_shown(key: str) -> None:
    assert mask_keys(f'api_key_env = "{key}"') == 'api_key_env = "***"'


def test_the_place_of_a_fault_is_marked_with_the_lines_around() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 21))
    assert lines_around(text, 10).splitlines() == [
        "   8 | line 8",
        "   9 | line 9",
        "> 10 | line 10",
        "  11 | line 11",
        "  12 | line 12",
    ]
    assert lines_around(text, 1).splitlines()[0] == "> 1 | line 1"
    assert lines_around(text, 99).splitlines()[-1] == "> 20 | line 20"
    assert lines_around("", 1) == "> 1 | "


def test_an_edit_that_would_write_a_mask_is_found_by_its_line() -> None:
    original = f'# *** ours ***\nname = "a"\napi_key = "{KEY}"\n'
    assert left_masked(mask_keys(original), original=original) == 3
    assert left_masked(mask_keys(original).replace('api_key = "***"\n', ""), original=original) is None
    assert left_masked(original, original=original) is None
