"""A text that is rendered while it grows."""

from __future__ import annotations

from itertools import count

import pytest

from conductor.markdown import Growing, rendered


def growing_at_leisure(most: int = 32) -> Growing:
    """One that may always read."""
    return Growing(most, now=count(step=1e6).__next__)


GROWN = """# Title

Some *words* and `code`.

| a | b |
|---|---|
| 1 | 2 |

- one

  more
- two
  1. three

```python
def f():
    return 1

# end
```

$$
x = y
$$

> quote
lazy

Last #tag
#other and **bold**
"""


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 7, 40])
def test_a_text_that_grows_ends_as_the_whole_text(step: int) -> None:
    growing = growing_at_leisure()
    for end in range(0, len(GROWN) + step, step):
        rendering = growing.rendered("key", GROWN[:end])
        assert rendering.html.count("<p ") == rendering.html.count("</p>")
    finished = growing.rendered("key", f"{GROWN}\n\nend\n\nend")
    assert finished == rendered(f"{GROWN}\n\nend\n\nend")


def test_a_text_that_grows_may_have_any_line_ends_and_halves_of_characters() -> None:
    growing = growing_at_leisure()
    for text in ("a\r\rb", "a\r\rb\r\nc\n\nd \ud83d", "a\r\rb\r\nc\n\nd \ud83d\ude00\n\n# e\n\nf"):
        rendering = growing.rendered("key", text)
    assert [block[:14] for block in rendering.blocks] == ['<p dir="auto">'] * 3 + [
        '<h3 class="lev',
        '<p dir="auto">',
    ]


def test_words_that_were_withdrawn_are_not_shown_any_more() -> None:
    times = iter([0.0, 0.0])
    growing = Growing(now=times.__next__)
    growing.rendered("key", "- withdrawn\n" * 200)
    assert growing.rendered("key", "again").html == rendered("again").html


def test_of_a_text_that_grows_the_first_blocks_stay_as_they_are() -> None:
    growing = growing_at_leisure(most=1)
    first = growing.rendered("key", "a\n\nb\n\nc\n\nd")
    second = growing.rendered("key", "a\n\nb\n\nc\n\nd **e**\n\nf")
    assert second.blocks[:3] == first.blocks[:3]
    assert second.blocks == rendered("a\n\nb\n\nc\n\nd **e**\n\nf").blocks
    assert growing.rendered("key", "again").blocks == rendered("again").blocks
    assert growing.rendered("other", "b\n\nc").blocks == rendered("b\n\nc").blocks


def test_what_takes_long_to_read_is_read_seldom() -> None:
    times = iter([0.0, 0.0, 1e9])
    growing = Growing(now=times.__next__)
    text = "- item with *words*\n" * 100
    first = growing.rendered("key", text)
    assert growing.rendered("key", text + "- more") == first
    assert "more" in growing.rendered("key", text + "- more").html
