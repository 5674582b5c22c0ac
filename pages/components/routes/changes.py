"""Where a page asks whether it still shows what is there: a GET that answers with two short marks.

Tells nothing but whether something has changed, so it needs no more protection than the ids it is asked for.
Knows the services, no Streamlit.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from conductor.errors import ConductorError
from pages.components.services import workbench

PATH = "/changes"


# No coroutine, so that reading the store does not hold up the server.
def _changes(request: Request) -> JSONResponse:
    try:
        marks = workbench().marks(request.query_params.get("session"))
    except ConductorError:
        # The page itself says what is wrong when it is drawn next; until then it stays as it is.
        return JSONResponse({})
    return JSONResponse({"session": marks.session, "recent": marks.recent})


CHANGES = (
    Route(PATH, _changes, methods=["GET"]),
    # Where Streamlit is told to serve everything below a path of its own.
    Route(f"/{{below:path}}{PATH}", _changes, methods=["GET"]),
)
