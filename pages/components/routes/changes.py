"""Where a page asks whether it still shows what is there: a GET that answers with two short marks.

The answer reveals only whether something has changed, so it needs no more protection than the ids in the
request. Knows the services, no Streamlit.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from conductor.errors import ConductorError
from pages.components.tab.services import workbench
from studio.workbench import marks

PATH = "/changes"


# No coroutine, so that reading the store does not hold up the server.
def _changes(request: Request) -> JSONResponse:
    try:
        found = marks(workbench(), request.query_params.get("session"))
    except ConductorError:
        # The page shows what is wrong when it is drawn next; until then it stays as it is.
        return JSONResponse({})
    return JSONResponse({"session": found.session, "recent": found.recent})


CHANGES = (
    Route(PATH, _changes, methods=["GET"]),
    # Where Streamlit serves everything below a base path.
    Route(f"/{{below:path}}{PATH}", _changes, methods=["GET"]),
)
