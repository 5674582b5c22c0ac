"""The API beside the UI, under `/v1`: the same workbench, the same store, one process.

Mounted, so that an unknown address under it is an error in JSON and not the app. Links to runs begin with
`CONDUCTOR_APP_URL` where that is set, else with the address by which the API was asked. Knows no Streamlit.
"""

from __future__ import annotations

from functools import cache

from starlette.applications import Starlette
from starlette.routing import Mount, Route

from conductor.own_settings import setting
from pages.components.tab.services import access, machine_token, metrics, workbench
from studio.access.auth import TokenAuthenticator
from studio.access.exposure import PATH
from studio.api.answers.response_run import ResponseRuns
from studio.api.app import api
from studio.api.operating import operating_routes
from studio.api.serving.resuming_server import ResumingServer


@cache
def _auth() -> TokenAuthenticator:
    return TokenAuthenticator(
        lambda: workbench().store.tokens, machine=lambda: machine_token().read(), is_open=access().api_open
    )


@cache
def _app() -> Starlette:
    app_url = setting("CONDUCTOR_APP_URL") or None
    return api(workbench, _auth(), app_url=app_url, beside_app=True, metrics=metrics())


def api_route() -> Mount:
    """The route to the process's one API. Raises `ServeError` as `access`."""
    return Mount(PATH, _app())


def routes_beside() -> list[Route]:
    """The routes with which a server is operated. Raises `ServeError` as `access`."""
    return operating_routes(workbench, _auth(), metrics().scrape)


def response_runs() -> ResponseRuns:
    """All runs behind responses, to be stopped before the server."""
    runs: ResponseRuns = _app().state.runs
    return runs


def resuming_server() -> ResumingServer:
    """What goes on with runs whose process ended."""
    return ResumingServer(_app().state.service)
