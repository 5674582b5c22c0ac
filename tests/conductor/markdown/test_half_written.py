"""A sign of Markdown that is half written is not shown."""

from __future__ import annotations

import re

import pytest

from conductor.markdown import Growing, rendered
from conductor.markdown.half_written import half_written

FORMS = {
    "strong": ("It is **very", "It is **very**"),
    "strong, its end half": ("It is **very*", "It is **very**"),
    "strong, behind a blank": ("It is **very ", "It is **very**"),
    "strong, whole": ("It is **very** good", "It is **very** good"),
    "strong, begun": ("It is **", "It is "),
    "emphasis": ("an *old", "an *old*"),
    "emphasis of underscores": ("an _old", "an _old_"),
    "both": ("a ***b", "a ***b***"),
    "one in the other": ("**a *b", "**a *b***"),
    "struck": ("~~no", "~~no~~"),
    "code": ("call `f(*x", "call `f(*x`"),
    "code, begun": ("call ``", "call "),
    "a fence": ("```py\na = **b", "```py\na = **b"),
    "a link, its words": ("see [the do", "see the do"),
    "a link, its address": ("see [the docs](https://exam", "see the docs"),
    "an image": ("![a cat](htt", "a cat"),
    "a link, whole": ("see [it](https://a.b) now", "see [it](https://a.b) now"),
    "a formula": (r"so $\frac{a}{", "so "),
    "a formula in strong": (r"so **$\frac{a}{", "so "),
    "a formula of its own": ("so\n\n$$\nx = ", "so\n\n"),
    "a formula in brackets": (r"so \(x_1", "so "),
    "an environment": ("so\n\\begin{aligned}\na &= b \\\\", "so\n"),
    "an environment, its name": ("so\n\n\\begin{ali", "so\n\n"),
    "an environment, its first letter": ("so\n\n\\", "so\n\n"),
    "an environment in another": (
        "\\begin{equation}\n\\begin{split}\na\n\\end{split}",
        "",
    ),
    "an environment, whole": ("\\begin{cases}\na\n\\end{cases}\nso", "\\begin{cases}\na\n\\end{cases}\nso"),
    "an environment of words": ("\\begin{quote}\na", "\\begin{quote}\na"),
    "a formula, whole": ("so $x$ is", "so $x$ is"),
    "dollars": ("it costs $5 a day", "it costs $5 a day"),
    "a dollar sign": ("$" + "HOME is a folder, " * 6, "$" + "HOME is a folder, " * 6),
    "a table, its head": ("So:\n\n| a | b |", "So:\n\n"),
    "a table, its line": ("| a | b |\n|---|-", ""),
    "a table, whole": ("| a | b |\n|---|---|\n| 1 |", "| a | b |\n|---|---|\n| 1 |"),
    "an underline": ("Title\n-", "Title\n"),
    "a product": ("2 * 3 and 2*3", "2 * 3 and 2*3"),
    "a name": ("snake_case_name", "snake_case_name"),
    "an escape": (r"a \*b", r"a \*b"),
    "an item before": ("- **a\n- b", "- **a\n- b"),
    "a list of stars": ("* one\n* two", "* one\n* two"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_end_is_read_as_it_will_most_likely_go_on(form: str) -> None:
    text, closed = FORMS[form]
    assert half_written(text) == closed


TEXT = r"""Some **very *old* and strong** words, `code`, ~~no~~ and [a link](https://example.org/a).

- *one* and $\frac{a}{b}$.

| a | b |
|---|---|
| **1** | 2 |

$$
x = y
$$

\begin{aligned}
a &= b \\
  &= c
\end{aligned}

End."""


def test_no_sign_is_ever_shown_while_a_text_grows() -> None:
    growing = Growing(now=iter(range(0, 10**9, 10**6)).__next__)
    for end in range(len(TEXT) + 1):
        html = growing.rendered("key", TEXT[:end]).html
        words = re.sub(r'<span class="formula.*?</span>|<[^>]*>', "", html, flags=re.DOTALL)
        assert not re.search(r"[*_`~$\[\]|\\]", words), TEXT[:end]
    assert growing.rendered("key", f"{TEXT}\n\nend\n\nend") == rendered(f"{TEXT}\n\nend\n\nend")


@pytest.mark.parametrize(
    "sign", ["*", "**a ", "`", "$", "[", "\\", "|", "| \n", "_a", "\\(", "[](", "\\begin{split}\n"]
)
def test_long_runs_of_signs_take_no_time(sign: str) -> None:
    text = sign * (20_000 // len(sign))
    assert len(half_written(text)) <= 3 * len(text)
