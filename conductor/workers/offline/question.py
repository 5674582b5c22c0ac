"""What a mathematics question asks: a problem, read from everyday English.

Knows which wording counts and what a formula means without one; computes nothing. A question it
does not recognise is None, and one with many words it could not read is marked so, because its
formula may be beside the point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from conductor.workers.offline.formula import Name, Node, Relation, substituted, variables_of
from conductor.workers.offline.phrasing import cut_off, passages_of, plain_formulas, unread_words
from conductor.workers.offline.problem import Operation, Problem
from conductor.workers.offline.wording import READERS

MAX_CHARACTERS = 5_000
"""Longer texts are no formula questions and are not read."""


def read_problem(text: str) -> Problem | None:
    """The problem a text states, None when it states none that can be computed."""
    if len(text) > MAX_CHARACTERS or _REASONING.search(text):
        return None
    plain = plain_formulas(text)
    for pattern, read in READERS:
        for match in pattern.finditer(plain):
            if (problem := read(match)) is not None:
                return replace(problem, explicit=True, unread=unread_words(plain, passages_of(plain)))
    return _implied(plain)


def named_operation(text: str) -> Operation | None:
    """The operation an instruction without a formula names ("differentiate it"), else None."""
    for pattern, operation in _NAMED:
        if re.search(pattern, text, re.IGNORECASE):
            return operation
    return None


_REASONING = re.compile(r"\b(?:prove|proof|explain why|show that|disprove)\b", re.IGNORECASE)
_NAMED: tuple[tuple[str, Operation], ...] = (
    (r"\bdifferentiate\b|\bderivative\b", "derivative"),
    (r"\bintegrate\b|\bantiderivative\b|\bintegral\b", "integral"),
    (r"\bexpand\b", "expand"),
    (r"\bfactori[sz]e\b|^factor\b|\bprime factors\b", "factor"),
    (r"\bsimplify\b", "simplify"),
)


_DEFINITION = re.compile(r"\b[fgh]\s*\([a-z]\)\s*=(?!=)")
_FURTHER = re.compile(
    r"\b(?:divide|multiply|add|subtract|increase|decrease|maxim\w+|minim\w+|optim\w+|double|halve)\b",
    re.IGNORECASE,
)
"""Words that ask for more than the formula beside them."""


# -- what formulas say without a word -----------------------------------------------------------


def _implied(plain: str) -> Problem | None:
    """A lone formula is evaluated, relations are solved; "y at x = 3" puts the numbers in."""
    plain = _DEFINITION.sub("", plain)
    passages = passages_of(plain)
    if _FURTHER.search(plain) or any(cut_off(plain, passage) for passage in passages):
        return None
    unread = unread_words(plain, passages)
    contents = [passage.content for passage in passages if passage.concrete]
    relations = [relation for content in contents if isinstance(content, tuple) for relation in content]
    formulas = [content for content in contents if not isinstance(content, tuple)]
    explicit = bool(re.search(r"\b(?:compute|calculate|evaluate|solve|work out)\b", plain, re.IGNORECASE))
    common = Problem("value", explicit=explicit, unread=unread)
    if formulas and relations and (node := _with_values(formulas[0], relations)) is not None:
        return replace(common, formulas=(node,))
    if relations:
        free = frozenset().union(*map(variables_of, relations))
        wanted = re.search(r"\b(?:solve|find|is|for)(?: for)? ([a-zA-Z])\b(?!\s*[=(])", plain)
        variable = wanted[1] if wanted and wanted[1] in free else None
        operation: Operation = "solve" if free else "claim"
        return replace(common, operation=operation, relations=tuple(relations), variable=variable)
    if formulas:
        node = formulas[0]
        return replace(common, operation="simplify" if variables_of(node) else "value", formulas=(node,))
    return None


def _with_values(node: Node, relations: Sequence[Relation]) -> Node | None:
    """`node` with x = 3 put in, None unless every relation gives one of its names a number."""
    for relation in relations:
        if not isinstance(relation.left, Name) or relation.sign != "=" or variables_of(relation.right):
            return None
        node = substituted(node, relation.left.text, relation.right)
    return None if variables_of(node) else node
