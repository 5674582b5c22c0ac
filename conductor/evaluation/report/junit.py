"""An evaluation's answers as JUnit XML, which most CI services show.

A suite for each planner, a case for each answer. A wrong answer is a failure, one that is not known to be
right or wrong an error. The format is that of https://github.com/testmoapp/junitxml. Knows items and cells;
writes no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import Item
from conductor.evaluation.score import WITHOUT_VERDICT
from conductor.text.control_characters import visible

_LONGEST = 120
"""Characters of a question in a name."""

_NO_XML = re.compile("[\ufffe\uffff]")


def as_junit(name: str, items: Sequence[Item], planners: Sequence[str], cells: Iterable[Cell]) -> str:
    """The XML; each question's time is that of its answer, and empty if it is unknown."""
    own: dict[str, list[Cell]] = {planner: [] for planner in planners}
    for cell in cells:
        own[cell.planner].append(cell)
    root = Element("testsuites", name=_text(name))
    for planner, of_planner in own.items():
        scores = [cell.result.score for cell in of_planner]
        errors = sum(not score.is_known for score in scores)
        suite = SubElement(
            root,
            "testsuite",
            name=_text(planner),
            tests=str(len(scores)),
            failures=str(sum(not score.right for score in scores) - errors),
            errors=str(errors),
            time=f"{sum(cell.result.seconds or 0.0 for cell in of_planner):.3f}",
        )
        for cell in of_planner:
            _add_case(suite, items[cell.item], cell)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_case(suite: Element, item: Item, cell: Cell) -> None:
    repeat = f" ({cell.repeat + 1})" if cell.repeat else ""
    question = " ".join(item.input.split())[:_LONGEST]
    case = SubElement(suite, "testcase", name=_text(f"{item.id}{repeat}: {question}"))
    case.set("classname", _text(cell.planner))
    if cell.result.seconds is not None:
        case.set("time", f"{cell.result.seconds:.3f}")
    score = cell.result.score
    if score.right:
        return
    right = " or ".join(item.target)
    words = (
        f"answered {score.answer!r}, right is {right!r}"
        if score.verdict == "wrong"
        else f"{WITHOUT_VERDICT[score.verdict]}; right is {right!r}"
    )
    fault = SubElement(case, "failure" if score.is_known else "error", type=score.verdict)
    fault.set("message", _text(words))
    fault.text = _text("\n".join(filter(None, [score.reason, f"session {cell.session}"])))


def _text(text: str) -> str:
    """Without the characters that no XML has."""
    return _NO_XML.sub("\ufffd", visible(text, pictures=False))
