"""A rule that names instructions which were copied from the planning prompt's examples, for another question.

Knows words only; which examples a prompt has is given to the check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from conductor.workflow.lint.finding import Finding, Subject

_LEAST_WORDS = 5
_SHARE = 0.8
"""The part of the shorter of two instructions whose words, from the first one, are the other's."""

_SUBJECT_LETTERS = 5
"""Words of a question with fewer letters do not show what it is about; its numbers do."""


def copied_example(subject: Subject) -> Iterator[Finding]:
    """Instructions that are an example's, where the query has no word of that example's question."""
    subjects = _subjects(subject.query)
    for step, own in enumerate(subject.workflow.steps):
        words = _words(own.instruction)
        for instruction, question in subject.examples.items():
            if _alike(words, _words(instruction)) and not subjects & _subjects(question):
                sentence = (
                    f"Step {step + 1} has the instruction of an example in the planning prompt, which is for "
                    "another question; write what this one needs, or ask for another plan."
                )
                yield Finding("copied-example", step, "warning", sentence)
                break


def _alike(left: Sequence[str], right: Sequence[str]) -> bool:
    shorter = min(len(left), len(right))
    shared = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    return shared >= max(_LEAST_WORDS, _SHARE * shorter)


@lru_cache(maxsize=2_048)
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text[:2_000].casefold()))


def _subjects(text: str) -> set[str]:
    return {word for word in _words(text) if len(word) >= _SUBJECT_LETTERS or word.isdigit()}
