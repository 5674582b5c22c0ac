"""Asks a provider of OpenID Connect: where people log in, and who has logged in there.

OpenID Connect Core 1.0 and Discovery 1.0, the authorization code flow with PKCE (RFC 7636). Nothing that the
provider answers is believed before it is checked. Knows HTTP and tokens; knows no browser.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import httpx

from conductor.errors import ConductorError
from conductor.workers.endpoint.transport.route import client_options
from studio.access.errors import LoginError
from studio.access.openid.logins import CLIENT_ID, CLIENT_SECRET, ISSUER, People, is_protected

PATIENCE = 10.0
"""Seconds that the provider has for each answer."""

REMEMBERED = 3600.0
"""Seconds until its addresses and keys are asked for again."""

_LEEWAY = 60.0
"""Seconds by which two clocks may differ."""

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Those with a private key of the provider's: a token signed with the client's secret shows less."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoginAttempt:
    """A login under way: the `secret` is derived for it alone, and its browser returns to `address`."""

    secret: bytes
    address: str

    @property
    def state(self) -> str:
        return self._derived("state")

    @property
    def nonce(self) -> str:
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        return self._derived("verifier")

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.secret, purpose.encode(), hashlib.sha256).hexdigest()


class Provider:
    """The provider of these people. Used in one event loop."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._metadata: Mapping[str, Any] = {}
        self._keys: list[Mapping[str, Any]] = []
        self._until = self._keys_until = 0.0

    async def login_address(self, attempt: LoginAttempt) -> str:
        """Where a browser logs in. Raises `LoginError` where the provider cannot be used."""
        endpoint = await self._endpoint("authorization_endpoint")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest())
        more = {
            "response_type": "code",
            "client_id": self._people.client_id,
            "redirect_uri": attempt.address,
            "scope": "openid email profile",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return str(httpx.URL(endpoint).copy_merge_params(more))

    async def person(self, attempt: LoginAttempt, code: str) -> str:
        """The name of the person who logged in and came back with this code. Raises `LoginError`."""
        tokens = await self._tokens(attempt, code)
        claims = await self._claims(tokens.get("id_token"), nonce=attempt.nonce)
        if "email" not in claims and "userinfo_endpoint" in self._metadata:
            claims = {**await self._more_claims(tokens.get("access_token"), claims["sub"]), **claims}
        return self._people.person(claims)

    async def _tokens(self, attempt: LoginAttempt, code: str) -> Mapping[str, Any]:
        endpoint = await self._endpoint("token_endpoint")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": attempt.address,
            "code_verifier": attempt.verifier,
        }
        own = {"client_id": self._people.client_id, "client_secret": self._people.client_secret}
        ways = self._metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if "client_secret_basic" not in ways:
            return await self._answer("POST", endpoint, data={**form, **own})
        # RFC 6749, 2.3.1: both are encoded as in a form.
        name, secret = map(quote_plus, own.values())
        return await self._answer("POST", endpoint, data=form, auth=(name, secret))

    async def _claims(self, token: object, *, nonce: str) -> Mapping[str, Any]:
        """What the ID token claims, which this provider signed for this server and this attempt."""
        import jwt  # noqa: PLC0415 - takes a tenth of a second, with its cryptography

        try:
            header = jwt.get_unverified_header(token)  # type: ignore[arg-type]
            algorithm = str(header.get("alg"))
            if algorithm not in _ALGORITHMS:
                raise self._fault(
                    f"signs its ID tokens with {algorithm[:20]!r}; have it sign them with RS256 or ES256"
                )
            key = jwt.PyJWK(dict(await self._key(header.get("kid"))), algorithm)
            claims: dict[str, Any] = jwt.decode(
                token,  # type: ignore[arg-type]
                key,
                algorithms=[algorithm],
                audience=self._people.client_id,
                issuer=str(self._metadata["issuer"]),
                leeway=_LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise self._fault(f"sent an ID token that does not count: {_reason(error)}") from error
        if not hmac.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()):
            raise self._fault("sent an ID token of another login; log in again")
        if (
            isinstance(claims["aud"], list)
            and claims.get("azp", self._people.client_id) != self._people.client_id
        ):
            raise self._fault(f"sent an ID token for another client; look at {CLIENT_ID}")
        return claims

    async def _key(self, id: str | None) -> Mapping[str, Any]:
        """The provider's key of that id, or its only one; asked for again where it is not known yet."""
        keys = self._keys_of(id)
        if not keys or time.monotonic() > self._keys_until:
            answer = await self._answer("GET", await self._endpoint("jwks_uri"))
            listed = answer.get("keys")
            self._keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
            self._keys_until = time.monotonic() + REMEMBERED
            keys = self._keys_of(id)
        if len(keys) != 1:
            raise self._fault("sent an ID token that none of its keys has signed; log in again")
        return keys[0]

    def _keys_of(self, id: str | None) -> list[Mapping[str, Any]]:
        keys = [key for key in self._keys if key.get("use", "sig") == "sig" and key.get("kty") != "oct"]
        return keys if id is None else [key for key in keys if key.get("kid") == id]

    async def _more_claims(self, token: object, subject: str) -> Mapping[str, Any]:
        """What the provider has of the person beside the ID token."""
        endpoint = await self._endpoint("userinfo_endpoint")
        claims = await self._answer("GET", endpoint, headers={"authorization": f"Bearer {token}"})
        if claims.get("sub") != subject:
            raise self._fault("answered about another person than the one who logged in; log in again")
        return claims

    async def _endpoint(self, name: str) -> str:
        """The address of that name. Raises `LoginError` for one to which no secret may be sent."""
        if time.monotonic() > self._until:
            address = f"{self._people.issuer}/.well-known/openid-configuration"
            answer = await self._answer("GET", address)
            if str(answer.get("issuer")).rstrip("/") != self._people.issuer:
                raise self._fault(f"names itself {str(answer.get('issuer'))[:200]!r}; set {ISSUER} to that")
            self._metadata, self._until = answer, time.monotonic() + REMEMBERED
        endpoint = str(self._metadata.get(name))
        if not is_protected(endpoint):
            raise self._fault(f"names no {name} with https; look at {ISSUER}")
        return endpoint

    async def _answer(self, method: str, url: str, **more: Any) -> Mapping[str, Any]:
        """The JSON object that is the answer. Raises `LoginError` for any other one."""
        try:
            async with httpx.AsyncClient(**client_options(httpx.URL(url)), timeout=PATIENCE) as client:
                answer = await client.request(method, url, **more)
            shape = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ConductorError) as error:
            raise self._fault(
                f"cannot be reached ({type(error).__name__}); try again later, or have the server's owner "
                f"look at {ISSUER}"
            ) from error
        except ValueError:
            shape = None
        code = shape.get("error") if isinstance(shape, dict) else None
        if code in ("invalid_client", "unauthorized_client"):
            raise self._fault(
                f"does not accept this server ({code}); look at {CLIENT_ID} and {CLIENT_SECRET}"
            )
        if answer.status_code != httpx.codes.OK or not isinstance(shape, dict):
            words = f": {code[:60]!r}" if isinstance(code, str) else ""
            raise self._fault(f"answered with status {answer.status_code}{words}; log in again")
        return shape

    def _fault(self, words: str) -> LoginError:
        """An error of the provider, which the log has as well: it may need the server's owner."""
        _log.warning("A login failed: %s %s.", self._people.provider, words)
        return LoginError(f"{self._people.provider} {words}.")


def _reason(error: Exception) -> str:
    """What is wrong with a token, and what to do, without a word of the token."""
    reasons = {
        "ExpiredSignatureError": "it has expired; set the clocks of both servers",
        "ImmatureSignatureError": "it is not valid yet; set the clocks of both servers",
        "InvalidIssuedAtError": "it is not valid yet; set the clocks of both servers",
        "InvalidAudienceError": f"it is for another client; look at {CLIENT_ID}",
        "InvalidIssuerError": f"it is another provider's; look at {ISSUER}",
        "InvalidSignatureError": "its signature is wrong; log in again",
    }
    return reasons.get(type(error).__name__, "it is damaged; log in again")
