"""A provider of OpenID Connect on loopback, which logs in whom a test names, by the protocol alone."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote_plus, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from studio.access.openid.logins import ALLOW, CLIENT_ID, CLIENT_SECRET, ISSUER
from tests.support.processes.served_app import serving

CLIENT = "studio"
SECRET = "a secret: of/the+client~"
ADA = {"email": "Ada@example.org", "email_verified": True}
KEY = generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class OpenIdProvider:
    """Logs in the person with these `claims`, whose ID token has the claims `token` instead of its own.

    `userinfo`: the claims are there and not in the ID token. `algorithm` and `key` sign; only `KEY` is
    published. `refusal` is what each login ends with. `secrets_by_post`: it takes the client's secret in the
    form alone. `secret` is what the client is set to send.
    """

    claims: dict[str, Any] = field(default_factory=lambda: dict(ADA))
    token: dict[str, Any] = field(default_factory=dict)
    userinfo: bool = False
    algorithm: str = "RS256"
    key: RSAPrivateKey | str | None = KEY
    refusal: str | None = None
    secrets_by_post: bool = False
    issuer: str = ""
    secret: str = SECRET
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a server whose people log in here."""
        return {ISSUER: self.issuer, CLIENT_ID: CLIENT, CLIENT_SECRET: self.secret, ALLOW: "example.org"}

    @cached_property
    def app(self) -> Starlette:
        routes = {
            "/.well-known/openid-configuration": self._metadata,
            "/authorize": self._authorize,
            "/token": self._token,
            "/userinfo": self._userinfo,
            "/keys": self._keys,
        }
        return Starlette(
            routes=[Route(path, answer, methods=["GET", "POST"]) for path, answer in routes.items()]
        )

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint_auth_methods_supported": [
                    "client_secret_post" if self.secrets_by_post else "client_secret_basic"
                ],
            }
        )

    async def _authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT)
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        answer = {"code": code} if self.refusal is None else {"error": self.refusal}
        return RedirectResponse(
            f"{query['redirect_uri']}?{urlencode({**answer, 'state': query['state']})}", 302
        )

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        if self.secrets_by_post:
            own = (form.get("client_id"), form.get("client_secret"))
        else:
            basic = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
            own = tuple(map(unquote_plus, basic.split(":")))
        if own != (CLIENT, SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        query = self.codes.pop(form["code"], {})
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (query.get("redirect_uri"), query.get("code_challenge")) != (
            form["redirect_uri"],
            challenge.decode().rstrip("="),
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "1815",
            "iat": now,
            "exp": now + 60,
            "nonce": query["nonce"],
            **({} if self.userinfo else self.claims),
            **self.token,
        }
        return JSONResponse(
            {"access_token": "access", "token_type": "Bearer", "id_token": self._signed(claims)}
        )

    def _signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self.key, self.algorithm, headers={"kid": "1"})  # type: ignore[arg-type]

    async def _userinfo(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer access"
        return JSONResponse({"sub": "1815", **self.claims})

    async def _keys(self, _: Request) -> Response:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
        return JSONResponse({"keys": [{**key, "kid": "1", "use": "sig"}]})


@contextmanager
def openid_provider() -> Iterator[OpenIdProvider]:
    """The provider, until the block is left."""
    provider = OpenIdProvider()
    with serving(provider.app) as port:
        provider.issuer = f"http://127.0.0.1:{port}"
        yield provider
