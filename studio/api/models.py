"""Model names: what a client may ask for, what each means, and the entries of `/v1/models`.

Pure; the workers and workflows that exist come from the pool and the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from conductor.baselines.named import PREFIX, Baseline, planner_named
from conductor.baselines.options import FILE
from conductor.baselines.planner_file.file_planner import PREFIX as PLANNER
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.errors import FormatError, PlanError
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.presets import Mode
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from studio.access.errors import ApiError
from studio.api.stored.visible import StoredWorkflow

NAMES: Mapping[str, Mode] = {"conductor": "standard", "conductor-mini": "mini", "conductor-ultra": "ultra"}
WORKFLOW = "workflow:"
WORKER = "worker:"
OWNER = "conductor-studio"


@dataclass(frozen=True)
class Model:
    """A Conductor writes a workflow, as its `mode` determines, or the `planner` in its place; a
    worker of the pool, by its name as `id`, answers alone; a workflow is that of a revision or a session, by
    its id.
    """

    kind: Literal["conductor", "worker", "workflow"]
    id: str
    mode: Mode = "standard"
    planner: str | None = None


class ModelEntry(BaseModel):
    """A model as OpenAI describes it."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelList(BaseModel):
    """The models that a token may use."""

    object: Literal["list"]
    data: list[ModelEntry]


def model_of(name: str) -> Model:
    """The model of that name. Raises `ApiError` where there can be none."""
    if name in NAMES:
        return Model("conductor", name, NAMES[name])
    if name.startswith(PLANNER):
        # Which there are depends on the pool.
        return Model("conductor", name, planner=name)
    if name.startswith(PREFIX):
        _ = _planner(name)
        return Model("conductor", name, planner=name)
    if name.startswith(WORKFLOW) and name != WORKFLOW:
        return Model("workflow", name.removeprefix(WORKFLOW))
    if name.startswith(WORKER) and name != WORKER:
        return Model("worker", name.removeprefix(WORKER))
    raise unknown_model(name)


def check_planner(model: Model, pool: Pool) -> None:
    """Raise `ApiError` where the model is a planner that cannot plan for this pool."""
    if model.planner is not None:
        planner = _planner(model.planner, pool)
        if isinstance(planner, Baseline | FilePlanner):
            with _is_model(model.planner):
                planner.check()


def _planner(name: str, pool: Pool | None = None) -> Baseline | FilePlanner | OfflineConductor:
    """The planner of that name. A client names no file of this machine: only those of the pool file."""
    if name.startswith(PLANNER) and name.endswith(FILE):
        raise _names_file(name, "[planners]")
    with _is_model(name):
        planner = planner_named(name, pool)
    if isinstance(planner, Baseline) and planner.options.names_file:
        raise _names_file(name, "[fitted]")
    return planner


@contextmanager
def _is_model(name: str) -> Iterator[None]:
    """Raises `ApiError` where the planner of that name cannot be used in the block."""
    try:
        yield
    except PlanError as error:
        raise _no_model(str(error)) from error
    except FormatError as error:
        # Its message names the file, which is none of a client's business.
        raise _no_model(f"What {name[:200]!r} has learnt cannot be read here.") from error


def _names_file(name: str, table: str) -> ApiError:
    return _no_model(
        f"The model {name[:200]!r} names a file; name one that the pool file has under {table}, without an "
        "ending."
    )


def _no_model(message: str) -> ApiError:
    return ApiError(message, status=404, param="model", code="model_not_found")


def unknown_model(name: str) -> ApiError:
    message = (
        f"The model {name[:200]!r} does not exist. There are {', '.join(NAMES)}, {PREFIX}NAME for a "
        f"baseline, {PLANNER}NAME for a planner of the pool file, {WORKER}NAME for a worker of the pool and "
        f"{WORKFLOW}ID for a saved workflow; GET /v1/models lists them."
    )
    return ApiError(message, status=404, param="model", code="model_not_found")


def conductor_entry(name: str) -> dict[str, Any]:
    return _entry(name, about={"kind": "conductor", "mode": NAMES[name]})


def planner_entry(name: str, pool: Pool | None = None) -> dict[str, Any]:
    kind = "planner" if name.startswith(PLANNER) else "baseline"
    return _entry(name, about={"kind": kind, "strengths": _planner(name, pool).card.strengths})


def planner_entries(pool: Pool) -> list[dict[str, Any]]:
    """The planners of the pool file whose files can be read."""
    entries = []
    for name in pool.planners:
        with suppress(ApiError):
            entries.append(planner_entry(f"{PLANNER}{name}", pool))
    return entries


def worker_entry(card: WorkerCard) -> dict[str, Any]:
    about = {"kind": card.kind, "strengths": card.strengths, "context": card.context}
    return _entry(f"{WORKER}{card.name}", about=about)


def workflow_entry(stored: StoredWorkflow) -> dict[str, Any]:
    about = {
        "kind": "workflow",
        "title": stored.title,
        "steps": len(stored.workflow),
        "workers": list(stored.workflow.workers()),
    }
    return _entry(f"{WORKFLOW}{stored.id}", created=int(stored.created_at), about=about)


def _entry(id: str, *, created: int = 0, about: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "object": "model", "created": created, "owned_by": OWNER, "conductor": about}
