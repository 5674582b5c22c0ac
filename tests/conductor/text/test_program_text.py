"""Which text of a response is its program."""

from __future__ import annotations

import pytest

from conductor.text.program_text import program_in


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("f = 1", "f = 1"),
        ("```\nf = 1\n```", "f = 1\n"),
        ("```python\nf = 1\n```\nUse it:\n```bash\npython f.py\n```", "f = 1\n"),
        ("```python\nf = 1\n```\nBetter:\n```py\nf = 2\n```", "f = 2\n"),
    ],
)
def test_the_program_of_a_response_is_its_last_block_of_python(response: str, program: str) -> None:
    assert program_in(response) == program
