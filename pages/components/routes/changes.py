"""A page asks here whether it is up to date: a GET that answers with two short marks.

While it is hidden, it asks whether the run has ended. A visitor who may look at some sessions alone is
answered about these. Knows the services, no Streamlit.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from conductor.errors import ConductorError
from pages.components.tab.services import workbench
from pages.components.view_models.run_text import state_label
from studio.access.login import VIEWED
from studio.workbench import marks

PATH = "/changes"
ENDING = "/ending"


# No coroutine, so that reading the store does not hold up the server.
def _changes(request: Request) -> JSONResponse:
    session = request.query_params.get("session")
    if not _may_ask(request, session):
        return JSONResponse({})
    try:
        latest = marks(workbench(), session)
    except ConductorError:
        # The page shows what is wrong when it is drawn next; until then it stays as it is.
        return JSONResponse({})
    return JSONResponse({"session": latest.session, "recent": latest.recent})


def _ending(request: Request) -> JSONResponse:
    """Whether work is under way, and how it ended in words; {} for a session that cannot be read."""
    session = request.query_params.get("session", "")
    if not _may_ask(request, session):
        return JSONResponse({})
    try:
        bench = workbench()
        run = bench.store.runs.latest(session)
    except ConductorError:
        return JSONResponse({})
    moves = bench.activities.busy(session) or (run is not None and run.status == "running")
    return JSONResponse({"moves": moves, "state": state_label("planned" if run is None else run.status)})


def _may_ask(request: Request, session: str | None) -> bool:
    """Whether the visitor may look at that session; `Login` names those of one who may not see all."""
    viewed = request.headers.get(VIEWED)
    return viewed is None or session in viewed.split(",")


def changes(below: str) -> list[Route]:
    """The routes, where Streamlit serves everything below the path `below`."""
    base = f"/{below.strip('/')}" if below.strip("/") else ""
    return [
        Route(f"{base}{path}", endpoint, methods=["GET"])
        for path, endpoint in ((PATH, _changes), (ENDING, _ending))
    ]
