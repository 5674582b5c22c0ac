"""Model names: what a client may ask for, and what each means.

Pure; which workers and workflows there are is told by the orchestra.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conductor.api.errors import ApiError
from conductor.api.orchestra import Saved
from conductor.modes import Mode
from conductor.workers.protocol import WorkerCard

NAMES: Mapping[str, Mode] = {"conductor": "standard", "conductor-mini": "mini", "conductor-ultra": "ultra"}
WORKFLOW = "workflow:"
WORKER = "worker:"
OWNER = "conductor-studio"


@dataclass(frozen=True, slots=True)
class Planned:
    """The Conductor plans, as this mode says."""

    mode: Mode


@dataclass(frozen=True, slots=True)
class SavedWorkflow:
    """The workflow of a revision or a session, by its id."""

    id: str


@dataclass(frozen=True, slots=True)
class OneWorker:
    """A worker of the pool alone."""

    name: str


Model = Planned | SavedWorkflow | OneWorker


def model_of(name: str) -> Model:
    """What the name means. Raises `ApiError` where it means nothing."""
    if name in NAMES:
        return Planned(NAMES[name])
    if rest := _behind(WORKFLOW, name):
        return SavedWorkflow(rest)
    if rest := _behind(WORKER, name):
        return OneWorker(rest)
    raise unknown_model(name)


def _behind(prefix: str, name: str) -> str:
    return name.removeprefix(prefix) if name.startswith(prefix) else ""


def unknown_model(name: str) -> ApiError:
    """That there is no such model."""
    message = (
        f"The model {name[:200]!r} does not exist. There are {', '.join(NAMES)}, {WORKER}NAME for a worker "
        f"of the pool and {WORKFLOW}ID for a saved workflow; GET /v1/models lists them."
    )
    return ApiError(message, status=404, param="model", code="model_not_found")


def conductor_shapes() -> list[dict[str, Any]]:
    """The entries of the models that plan."""
    return [_entry(name, created=0, told={"kind": "conductor", "mode": mode}) for name, mode in NAMES.items()]


def worker_shape(card: WorkerCard) -> dict[str, Any]:
    """The entry of a worker."""
    told = {"kind": card.kind, "strengths": card.strengths, "context": card.context}
    return _entry(f"{WORKER}{card.name}", created=0, told=told)


def workflow_shape(saved: Saved) -> dict[str, Any]:
    """The entry of a saved workflow."""
    told = {
        "kind": "workflow",
        "title": saved.title,
        "steps": len(saved.workflow),
        "workers": list(saved.workflow.workers()),
    }
    return _entry(f"{WORKFLOW}{saved.id}", created=int(saved.created_at), told=told)


def listing(entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A list as OpenAI writes it."""
    return {"object": "list", "data": list(entries)}


def _entry(id: str, *, created: int, told: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id, "object": "model", "created": created, "owned_by": OWNER, "conductor": dict(told)}
