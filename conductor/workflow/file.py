"""A workflow as a JSON file: format "conductor-workflow", version 1, with a published schema.

Knows the document only; the importing code checks its workers against the pool.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from conductor.errors import FormatError, WorkflowError
from conductor.text.json_text import parsed
from conductor.values.messages import RequestStyle, Sampling, Value
from conductor.values.output import Output
from conductor.workflow.model import MAX_STEPS, Step, Workflow
from conductor.workflow.on_failure import OnFailure

FORMAT = "conductor-workflow"
VERSION = 1
MAX_BYTES = 10_000_000
"""Larger files are refused before they are read as JSON."""

# Such a file has many lines of JSON, so that it cannot be read as one document.
_SESSIONS = re.compile(r'\ufeff?\s*\{\s*"format"\s*:\s*"conductor-session"')

_REQUIREMENTS = {
    "tuple_type": "it must be a list",
    "model_type": "it must be an object",
    "string_type": "it must be a text",
    "int_type": "it must be a whole number",
}

Origin = Literal["conductor", "human", "import"]
"""Who wrote a workflow: a Conductor, a person who edited it, or a file."""


class PlanStep(Value):
    instruction: str = Field(description="what the worker shall do")
    worker: str = Field(description="name of a worker of the pool")
    access: tuple[Annotated[int, Field(strict=True)], ...] = Field(
        default=(), description="0-based positions of earlier steps whose work this step sees"
    )
    sees_previous: bool = Field(
        default=False, strict=True, description="also sees the round before, in a later round"
    )
    sees_files: bool = Field(
        default=True, strict=True, description="sees the files and images that are attached to the question"
    )
    tools: tuple[str, ...] | None = Field(
        default=None,
        description="those of its worker's tools that it may call, as SERVER or SERVER:NAME; an empty list: "
        "none, without it: all",
    )
    sampling: Sampling = Field(default=Sampling(), description="sampling parameters, where set by hand")
    prompt_style: RequestStyle | None = Field(
        default=None, description="how its request is laid out; without it, as its worker's requests are"
    )
    pin: Output | None = Field(
        default=None, description="an output used in place of a call; `hand` marks one that a person wrote"
    )
    gate: bool = Field(
        default=False, strict=True, description="a run waits before this step until a person continues it"
    )
    on_failure: OnFailure | None = Field(
        default=None, description="what is done where its worker gives no answer; without it, the step fails"
    )


class PlanPool(Value):
    """The pool the workflow was written for."""

    label: str | None = Field(default=None, description="set where no model answers")
    workers: tuple[str, ...] = Field(default=(), description="names in the Conductor's order, from 0")


class PlanFile(Value):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        title="Conductor workflow",
        json_schema_extra={"$schema": "https://json-schema.org/draft/2020-12/schema"},
    )

    format: Literal["conductor-workflow"]
    version: Literal[1]
    query: str | None = Field(default=None, description="the question the workflow was written for")
    origin: Origin = Field(default="human", description="who wrote the workflow last")
    pool: PlanPool = PlanPool()
    steps: tuple[PlanStep, ...] = Field(min_length=1, max_length=MAX_STEPS)

    @property
    def workflow(self) -> Workflow:
        """The workflow. Raises `WorkflowError` where a step breaks a rule."""
        return Workflow.of(Step(**dict(step)) for step in self.steps)


def write_plan(
    workflow: Workflow, *, query: str | None, origin: Origin, workers: tuple[str, ...], label: str | None
) -> str:
    """The file's text for a workflow; `workers` and `label` are the pool's names and label."""
    document = PlanFile(
        format=FORMAT,
        version=VERSION,
        query=query,
        origin=origin,
        pool=PlanPool(label=label, workers=workers),
        steps=tuple(
            PlanStep(**{name: value for name, value in step if name != "lineage"}) for step in workflow.steps
        ),
    )
    content = document.model_dump(mode="json")
    for step in content["steps"]:
        for optional in ("tools", "prompt_style", "pin", "on_failure"):
            if step.get(optional) is None:
                step.pop(optional, None)
        if step["sees_files"]:
            del step["sees_files"]
        if not step["gate"]:
            del step["gate"]
    return json.dumps(content, indent=2, ensure_ascii=True) + "\n"


def read_plan(text: str | bytes) -> PlanFile:
    """The document, whose `workflow` is valid. Raises `FormatError` with one sentence."""
    if len(text) > MAX_BYTES:
        raise FormatError(
            f"The file has {len(text):,} bytes; a workflow file has at most {MAX_BYTES:,}. "
            "Choose a file exported as a workflow."
        )
    if _SESSIONS.match(text if isinstance(text, str) else text[:1_000].decode(errors="replace")):
        raise FormatError("The file has whole sessions, not a workflow. Import it on the Sessions page.")
    document = _document(text)
    _check_header(document)
    steps = document.get("steps")
    if isinstance(steps, list) and len(steps) > MAX_STEPS:
        raise FormatError(f"The file has {len(steps):,} steps; a workflow may have at most {MAX_STEPS:,}.")
    try:
        plan = PlanFile.model_validate(document)
        _ = plan.workflow
    except ValidationError as error:
        raise FormatError(_sentence(error)) from error
    except WorkflowError as error:
        raise FormatError(f"The file's workflow is not valid: {error}") from error
    return plan


def _document(text: str | bytes) -> dict[str, Any]:
    document = parsed(text, where="The file")
    if not isinstance(document, dict):
        raise FormatError('The file is not a JSON object; a workflow file starts with {"format": ...}.')
    return document


def _check_header(document: dict[str, Any]) -> None:
    if document.get("format") != FORMAT:
        raise FormatError(f'The file is not a workflow: its "format" must be "{FORMAT}".')
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise FormatError(
            f"The file has version {json.dumps(version)[:60]}; this program reads version {VERSION}. "
            "Open it with the program that wrote it, or export it again."
        )


def _sentence(error: ValidationError) -> str:
    """The first reason of a validation error, naming the field."""
    reason = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part)[:60] for part in reason["loc"])
    if reason["type"] == "too_short":
        return "The file has no steps; a workflow needs at least one."
    if reason["type"] == "extra_forbidden":
        return f"The file has an unknown field {where!r}; remove it."
    return f"The file's field {where!r} is wrong: {_REQUIREMENTS.get(reason['type'], reason['msg'])}."
