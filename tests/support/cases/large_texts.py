"""Texts too long to be shown at once: in one line, in lines, of letters of several parts, with marks."""

LARGE = {
    "words": "The quick brown fox jumps over it. " * 30_000,
    "unbroken": "abc123" * 170_000,
    "letters": "x" + "\N{WOMAN}\u200d\N{ROCKET}" * 30_000,
    "code": "```python\n" + "x = 1  # so many lines of it\n" * 2_000 + "```\n\nThe end.",
    "sums": "# Sums\n\n" + "Some *words*, `code` and $x^2$ in a line.\n\n" * 900,
}
