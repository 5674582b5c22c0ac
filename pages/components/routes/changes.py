"""Where a page asks whether it still shows what is there: a GET that answers with two short marks.

While it is hidden, it asks whether the run has ended. The answers reveal no text, so they need
no more protection than the ids in the requests. Knows the services, no Streamlit.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from conductor.errors import ConductorError
from pages.components.tab.services import workbench
from pages.components.view_models.run_text import state_label
from studio.workbench import marks

PATH = "/changes"
ENDING = "/ending"


# No coroutine, so that reading the store does not hold up the server.
def _changes(request: Request) -> JSONResponse:
    try:
        found = marks(workbench(), request.query_params.get("session"))
    except ConductorError:
        # The page shows what is wrong when it is drawn next; until then it stays as it is.
        return JSONResponse({})
    return JSONResponse({"session": found.session, "recent": found.recent})


def _ending(request: Request) -> JSONResponse:
    """Whether work is under way, and how it ended in words; {} for a session that cannot be read."""
    session = request.query_params.get("session", "")
    try:
        bench = workbench()
        run = bench.store.runs.latest(session)
    except ConductorError:
        return JSONResponse({})
    moves = bench.activities.busy(session) or (run is not None and run.status == "running")
    return JSONResponse({"moves": moves, "state": state_label("planned" if run is None else run.status)})


CHANGES = (
    Route(PATH, _changes, methods=["GET"]),
    # Where Streamlit serves everything below a base path.
    Route(f"/{{below:path}}{PATH}", _changes, methods=["GET"]),
    Route(ENDING, _ending, methods=["GET"]),
    Route(f"/{{below:path}}{ENDING}", _ending, methods=["GET"]),
)
