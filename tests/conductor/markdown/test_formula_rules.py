"""Mathematics in Markdown: what is a formula, and what becomes of it in a report."""

from __future__ import annotations

import re

import pytest

from conductor.markdown import rendered, with_mathml

MATHEMATICS = [
    ("$x$", ["x"]),
    ("the $n$th, $k$-means and ($a+b$).", ["n", "k", "a+b"]),
    ("$$x$$ and \\(y\\) and \\[z\\]", ["x", "y", "z"]),
    ("$$\nx\n- y\n$$", ["x\n- y"]),
    ("> $$\n> x\n> y\n> $$", ["x\ny"]),
    ("- a:\n  \\[\n  x\n  \\]", ["x"]),
    ("\\begin{align}\na &= b\n\\end{align}", ["\\begin{align}\na &= b\n\\end{align}"]),
    (r"$a \$ b$", [r"a \$ b"]),
    ("$2x$ and $3 + 4 = 7$ and $10^3$ and $5 \\text{ kg}$", ["2x", "3 + 4 = 7", "10^3", "5 \\text{ kg}"]),
    ("$5 and $10", []),
    ("It costs $5, and then 10$ more", []),
    ("from $1,000 and US$ 500 to EU$ 3", []),
    ("a $20 million-$30 million deal", []),
    ("$5-$10, $5/$6", []),
    ("$HOME/$USER", []),
    ("`$x$` and \\$x\\$", []),
    ("```\n$x$\n```", []),
    ("$x", []),
    ("$ x $", []),
    ("\\(x", []),
    ("$$\n\nx\n\n$$", []),
    ("$" + "x" * 5_000 + "$", []),
]


@pytest.mark.parametrize(("text", "formulas"), MATHEMATICS, ids=[text[:30] for text, _ in MATHEMATICS])
def test_mathematics_is_distinguished_from_money(text: str, formulas: list[str]) -> None:
    rendering = rendered(text)
    matches = re.findall(r'class="formula(?: display)?" dir="ltr">([^<]*)<', rendering.html)
    assert [each.replace("&amp;", "&") for each in matches] == formulas
    assert rendering.mathematics == bool(formulas)


def test_a_formula_becomes_mathml_or_stays_tex() -> None:
    assert "<mfrac>" in with_mathml(r"$\frac{a}{b}$").html
    assert "<mi>π</mi>" in with_mathml(r"$\pi$").html
    for tex in (
        r"\href{http://e.org}{x}",
        r"\frac{1}{",
        r"\style{color:red}{x}",
        r"\def\a{x}\a",
        r"\unknown x",
    ):
        html = with_mathml(f"${tex}$").html
        assert "<math" not in html
        assert tex.replace("&", "&amp;") in html
