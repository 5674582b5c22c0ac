"""Every kind of loose writing that is understood in a plan, by its stable name.

Knows the names and what they mean to a reader; not how they are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from conductor.workflow.plan_report import Repair, Span

RepairKind = Literal[
    "code-fence",
    "backtick",
    "bold-label",
    "bullet",
    "colon-label",
    "label-variant",
    "json-object",
    "json-steps",
    "quoted-plan",
    "typographic-quotes",
    "apostrophe",
    "raw-newline",
    "triple-quotes",
    "trailing-comma",
    "comment",
    "missing-bracket",
    "number-as-string",
    "bare-word",
    "worker-name",
    "bare-access",
    "repeated-access",
]

REPAIR_KINDS: Mapping[RepairKind, str] = {
    "code-fence": "The plan, or one of its lists, stands in a Markdown code fence.",
    "backtick": "A label or list stands in backticks.",
    "bold-label": "A label is written in bold or italic Markdown.",
    "bullet": "A label follows a list bullet or a number.",
    "colon-label": "A label is followed by a colon instead of an equals sign.",
    "label-variant": "A label or key is not written model_id, subtasks or access_list.",
    "json-object": "The three lists are the keys of a JSON object.",
    "json-steps": "The plan is a JSON object with one object for each step.",
    "quoted-plan": "The whole plan stands in quotes.",
    "typographic-quotes": "A text stands in typographic quotes.",
    "apostrophe": "A text in single quotes has apostrophes in it.",
    "raw-newline": "A quoted text runs over more than one line.",
    "triple-quotes": "A text stands in triple quotes.",
    "trailing-comma": "A list or object ends with a comma.",
    "comment": "A list has a comment in it.",
    "missing-bracket": "The last closing bracket is missing at the very end of the text.",
    "number-as-string": "A number is written as a text.",
    "bare-word": "A name, or the word all, is written without quotes.",
    "worker-name": "A worker is given by its name instead of its number.",
    "bare-access": "An access entry is not inside a list.",
    "repeated-access": "An access entry names the same step twice.",
}
"""What each kind means, as a sentence for people."""


def repair(kind: RepairKind, detail: str, span: Span) -> Repair:
    """A repair of a known kind; `span` is its place in the completion."""
    return Repair(kind=kind, detail=detail, span=span)
