"""The service behind every endpoint: the backend, the runs, the caller. Knows FastAPI; no endpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

from fastapi import Depends, Path
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from studio.access.auth import Principal, TokenAuthenticator
from studio.access.exposure import PATH
from studio.api.answers.response_run import ResponseRun, ResponseRuns
from studio.api.backend import Backend
from studio.api.metering import UNHEEDED


@dataclass(frozen=True)
class Service:
    """What the endpoints use. `app_url` is where the app is, `beside_app` that it is on this server."""

    backend: Backend
    auth: TokenAuthenticator
    runs: ResponseRuns
    app_url: str | None
    beside_app: bool

    def app_at(self, http: Request) -> str | None:
        """The app's address for the client of this request."""
        if self.app_url is not None or not self.beside_app:
            return self.app_url
        return f"{http.url.scheme}://{http.url.netloc}{http.scope.get('root_path', '').removesuffix(PATH)}"


def service_of(http: Request) -> Service:
    service: Service = http.app.state.service
    return service


_BEARER = HTTPBearer(auto_error=False, scheme_name="token")


async def _principal(
    http: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> Principal:
    bearer = None if credentials is None else credentials.credentials
    client = None if http.client is None else http.client.host
    return await service_of(http).auth.authenticate(bearer, client)


Authenticated = Annotated[Principal, Depends(_principal)]


# The patterns are only described: a path with a line break reaches no route.
StoredId = Annotated[str, Path(json_schema_extra={"pattern": r"^[^/\r\n]+$"})]
ModelId = Annotated[str, Path(json_schema_extra={"pattern": r"^[^\r\n]+$"})]


MAX_HEADER = 1_000
"""Characters of the header that names what has no effect; the answer lists all names."""

_UNSAFE = re.compile(r"[^\w.:-]", re.ASCII)


def headers_of(principal: Principal, run: ResponseRun, ignored: Iterable[str]) -> dict[str, str]:
    return {**principal.headers, "x-request-id": run.session, **unheeded_header(ignored)}


def unheeded_header(names: Iterable[str]) -> dict[str, str]:
    """The header with the parameters that have no effect, without one if there are none."""
    safe = dict.fromkeys(_UNSAFE.sub("_", name) for name in names)
    lengths = accumulate(len(name) + 1 for name in safe)
    fitting = [name for name, length in zip(safe, lengths, strict=True) if length <= MAX_HEADER]
    return {UNHEEDED: ",".join(fitting)} if fitting else {}
