"""The API as an ASGI app, to be mounted at `/v1`: its endpoints, what stands before them, and its errors.

Knows no Streamlit and no store.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from starlette.middleware import Middleware

from studio.access.auth import TokenAuthenticator
from studio.access.exposure import PATH
from studio.api.answers.answer_usage import shows_sum
from studio.api.answers.response_run import ResponseRuns
from studio.api.backend import Backend
from studio.api.endpoints import (
    answering,
    model_endpoints,
    session_endpoints,
    stored_completions,
    stored_responses,
)
from studio.api.endpoints.description import ApiApp, parameter_names
from studio.api.endpoints.service import Service
from studio.api.error_answers import answer_in_openais_shape
from studio.api.metering import RequestMeter
from studio.api.requests.body import UnreadBody
from studio.api.webhook import Webhooks, configured_receiver
from studio.telemetry.metrics import Metrics
from studio.workbench import Workbench


def api(
    workbench: Callable[[], Workbench],
    auth: TokenAuthenticator,
    *,
    app_url: str | None = None,
    beside_app: bool = False,
    metrics: Metrics | None = None,
) -> FastAPI:
    """The app; `workbench` may open the workbench on its first call, `metrics` count its requests. Raises
    `ServeError` for settings that cannot be used, `PoolError` for secrets that cannot be read.

    Links to runs begin with `app_url`, or with this server's own address where the app is beside it; else
    there are none. `state.runs` are all runs, to be stopped before the server.
    """
    shows_sum()
    app = ApiApp(
        title="Conductor Studio",
        version="1",
        description="Several models behind one name, in the words of OpenAI's API.",
        servers=[{"url": PATH}],
        root_path_in_servers=False,
        docs_url=None,
        redoc_url=None,
        middleware=[
            Middleware(RequestMeter, metrics=metrics, parameters=parameter_names),
            Middleware(UnreadBody),
        ],
    )
    answer_in_openais_shape(app)
    # Not included as a router, whose routes the answer to a wrong method could not list.
    for endpoints in (answering, stored_responses, stored_completions, session_endpoints, model_endpoints):
        app.routes.extend(endpoints.router.routes)
    backend = Backend(workbench)
    receiver = configured_receiver()
    count = None if metrics is None else metrics.count_webhook
    webhooks = None if receiver is None else Webhooks(receiver, count=count)
    app.state.runs = ResponseRuns(backend, auth, webhooks)
    app_url = None if app_url is None else app_url.rstrip("/")
    app.state.service = Service(backend, auth, app.state.runs, app_url=app_url, beside_app=beside_app)
    return app
