"""A workflow, or one of its steps, as a commented TOML text that a person edits, and its way back.

Steps count from 1 in it, as people count. Knows the text; knows no editor, no session and no store.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import tomlkit
from pydantic import ValidationError

from conductor.errors import ConductorError, FormatError, WorkflowError
from conductor.text.formatting import quantity
from conductor.workflow.file import PlanStep
from conductor.workflow.model import Step, Workflow
from studio.cli.output.terminal import one_line

_REASON = "#>>> "
"""Begins a line that states what is wrong with the next one; such lines are no part of the text."""

_TABLE = re.compile(r"\s*\[\[\s*step\s*\]\]")
_PLACE = re.compile(r"\(at line (\d+), column \d+\)")
_KEYS = tuple(name for name in PlanStep.model_fields if name != "pin")


class TextError(FormatError):
    """What is wrong with the text; `line` counts from 1, and is None if the fault has no line."""

    def __init__(self, message: str, *, line: int | None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class WrittenStep:
    """A step as it was read; its `pin` is the text of a pinned output, None without one."""

    step: Step
    pin: str | None


def step_toml(workflow: Workflow, *, only: int | None, title: str, workers: Sequence[str]) -> str:
    """The text of all steps, or of the step `only` (from 0). Raises `FormatError` for half a character."""
    which = f"Step {only + 1} of {len(workflow)}" if only is not None else quantity(len(workflow), "step")
    head = [
        f"{which}: {title}",
        "Save the file and close it to go on; one without a change changes nothing.",
        f"Workers: {', '.join(workers)}.",
        'access names the earlier steps that a step reads; steps count from 1. pin = "..." fixes an output.',
    ]
    lines = [f"# {one_line(line)}" for line in head]
    for at, step in enumerate(workflow.steps):
        if only is None:
            lines += ["", f"[[step]]  # {at + 1}", *_lines(step)]
        elif at == only:
            lines += ["", *_lines(step)]
        else:
            lines.append(f"# step {at + 1}, {step.worker}: {one_line(step.instruction, limit=80)}")
    text = "\n".join(lines) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FormatError(
            "The workflow has half of a character, which no file of text can have; change it in the app."
        ) from error
    return text


def _lines(step: Step) -> Iterator[str]:
    """The lines of one step: what people change first, then what differs from the default."""
    yield f"worker = {_string(step.worker)}"
    yield f"access = {[read + 1 for read in step.access]}"
    own = PlanStep(**{key: getattr(step, key) for key in _KEYS})
    for name, value in own.model_dump(mode="json", exclude_defaults=True, exclude_none=True).items():
        if name not in ("worker", "access", "instruction"):
            yield f"{name} = {_inline(value)}"
    if step.pin is not None:
        yield f"pin = {_string(step.pin.text)}"
    yield f"instruction = {_string(step.instruction)}"


def _inline(value: Any) -> str:
    if not isinstance(value, dict):
        return str(tomlkit.item(value).as_string())
    table = tomlkit.inline_table()
    table.update(value)
    return table.as_string()


def _string(text: str) -> str:
    """A text of several lines stands below the quotes, so that its lines are whole."""
    if "\n" not in text:
        return tomlkit.string(text).as_string()
    quoted = tomlkit.string(text, multiline=True).as_string()
    return f'"""\n{quoted[3:-3]}\n"""'


# -- reading ---------------------------------------------------------------------------------------


def read(text: str, *, only: int | None) -> tuple[WrittenStep, ...]:
    """The steps of the text, or of one that has the step `only` alone. Raises `TextError`."""
    lines = [line for line in text.splitlines() if not line.startswith(_REASON)]
    try:
        document = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place else len(lines)
        raise TextError(f"This is no TOML: {error}.", line=line) from error
    if only is not None:
        return (_step(document, only, lines, table=None),)
    tables = document.pop("step", None)
    if document:
        key = next(iter(document))
        raise TextError(f"{key!r} stands outside of a step; write it below [[step]].", line=_line(lines, key))
    if not isinstance(tables, list) or not tables:
        raise TextError("There is no step; a workflow needs one [[step]] at least.", line=None)
    return tuple(_step(table, at, lines, table=at) for at, table in enumerate(tables))


def _step(fields: Mapping[str, Any], at: int, lines: Sequence[str], *, table: int | None) -> WrittenStep:
    def fault(reason: str, key: str | None = None) -> TextError:
        return TextError(f"Step {at + 1}: {reason}", line=_line(lines, key, table=table))

    for key in fields:
        if key not in (*_KEYS, "pin"):
            near = get_close_matches(key, (*_KEYS, "pin"), 1)
            raise fault(f"there is no {key!r}{f'; did you mean {near[0]!r}' if near else ''}.", key)
    access, pin = fields.get("access", []), fields.get("pin")
    if not isinstance(access, list) or not all(type(each) is int and each > 0 for each in access):
        raise fault("access must be a list of numbers of earlier steps, from 1.", "access")
    if pin is not None and not isinstance(pin, str):
        raise fault("pin must be a text.", "pin")
    values = {key: value for key, value in fields.items() if key != "pin"}
    if isinstance(values.get("instruction"), str):
        values["instruction"] = _unended(values["instruction"])
    try:
        step = Step(**dict(PlanStep.model_validate(values | {"access": [each - 1 for each in access]})))
        _ = Workflow.of([*[Step(instruction="-", worker="-")] * at, step])
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False)[0]
        wrong = str(reason["loc"][0]) if reason["loc"] else None
        words = "it is missing" if reason["type"] == "missing" else reason["msg"]
        raise fault(f"{'.'.join(map(str, reason['loc']))}: {words}.", wrong) from error
    except WorkflowError as error:
        words = str(error)
        key = "access" if "reads" in words else "instruction" if " an " in words else "worker"
        raise TextError(str(error), line=_line(lines, key, table=table)) from error
    return WrittenStep(step, None if pin is None else _unended(pin))


def _unended(text: str) -> str:
    """The text without the end of its last line, which stands before the quotes that close it."""
    return text.removesuffix("\n") if "\n" in text[:-1] else text


def _line(lines: Sequence[str], key: str | None, *, table: int | None = None) -> int | None:
    """The line of the key in the table of that number, from 1; else the table's own. None: of no table."""
    heads = [at for at, line in enumerate(lines) if _TABLE.match(line) and _outside(lines, at)]
    first, last = 0, len(lines)
    if table is not None and table < len(heads):
        first = heads[table]
        last = heads[table + 1] if table + 1 < len(heads) else last
    if key is not None:
        begins = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]")
        for at in range(first, last):
            if begins.match(lines[at]) and _outside(lines, at):
                return at + 1
    return first + 1 if table is not None else None


def _outside(lines: Sequence[str], at: int) -> bool:
    """Whether the line begins outside of a text of several lines: what stands before it is whole."""
    try:
        tomllib.loads("\n".join(lines[:at]))
    except tomllib.TOMLDecodeError:
        return False
    return True


def with_reason(text: str, error: ConductorError) -> str:
    """The text with the reason above the line at fault; above all lines where the error has none."""
    lines = [line for line in text.splitlines() if not line.startswith(_REASON)]
    line = error.line if isinstance(error, TextError) else None
    place, where = 0 if line is None else min(line, len(lines)) - 1, ""
    if line is not None and not _outside(lines, place):
        # Inside of a text it would be a part of that. It is a line itself.
        place, where = 0, f"line {line + 1}: "
    return "\n".join([*lines[:place], f"{_REASON}{where}{one_line(str(error))}", *lines[place:]]) + "\n"
