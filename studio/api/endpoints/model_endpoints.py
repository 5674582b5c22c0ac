"""The endpoints of models: what planned and unplanned work can be asked for, by name."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from conductor.baselines.named import plain_baselines
from conductor.workers.computed import is_computed
from studio.access.auth import Principal
from studio.api.answers.run_metadata import Shape
from studio.api.backend import Backend
from studio.api.endpoints.description import returning
from studio.api.endpoints.service import Authenticated, ModelId, service_of
from studio.api.error_answers import Json
from studio.api.models import (
    NAMES,
    ModelEntry,
    ModelList,
    check_planner,
    conductor_entry,
    model_of,
    planner_entries,
    planner_entry,
    unknown_model,
    worker_entry,
    workflow_entry,
)
from studio.api.stored import visible

router = APIRouter()


# Some clients join addresses so; as the name of a model it would be empty.
@router.head("/models/", include_in_schema=False)
@router.get("/models/", include_in_schema=False)
@router.head("/models", include_in_schema=False)
@router.get("/models", **returning("listModels", ModelList))
async def list_models(http: Request, principal: Authenticated) -> Response:
    """List the models that plan, the workers, and the newest stored workflows."""
    backend = service_of(http).backend
    pool = await backend.pool()
    entries = [conductor_entry(name) for name in NAMES]
    entries += [planner_entry(name) for name in plain_baselines()]
    entries += planner_entries(pool)
    entries += [worker_entry(each.card) for each in pool.workers if principal.may_use(each.card)]
    entries += [
        workflow_entry(one)
        for one in await backend.look_up(visible.newest_workflows)
        if principal.may_run(one.workflow, pool.cards)
    ]
    return Json({"object": "list", "data": entries}, headers=dict(principal.headers))


@router.head("/models/{id:path}", include_in_schema=False)
@router.get("/models/{id:path}", **returning("retrieveModel", ModelEntry))
async def retrieve_model(http: Request, principal: Authenticated, id: ModelId) -> Response:
    """Return one model."""
    entry = await _model_entry(id, principal, service_of(http).backend)
    return Json(entry, headers=dict(principal.headers))


async def _model_entry(name: str, principal: Principal, backend: Backend) -> Shape:
    model, pool = model_of(name), await backend.pool()
    if model.kind == "conductor":
        check_planner(model, pool)
        return conductor_entry(name) if model.planner is None else planner_entry(name, pool)
    cards = pool.cards
    if model.kind == "worker":
        card = cards.get(model.id)
        if card is None or is_computed(card) or not principal.may_use(card):
            raise unknown_model(name)
        return worker_entry(card)
    stored_workflow = await backend.look_up(visible.workflow, model.id, token=principal.token)
    if stored_workflow is None or not principal.may_run(stored_workflow.workflow, cards):
        raise unknown_model(name)
    return workflow_entry(stored_workflow)
