"""People log in at a real provider on loopback; what it or a browser gets wrong admits no person."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from studio.access.login import PERSON, VIEWED, Login
from studio.access.openid.logins import SESSION_SECONDS, People
from studio.access.openid.round_trip import ATTEMPT_SECONDS
from studio.access.view_links import ViewLinks
from tests.support.endpoints.openid_provider import CLIENT, SECRET, OpenIdProvider, openid_provider

pytestmark = pytest.mark.slow

PAGE = {"accept": "text/html"}
HERE = "https://studio.example.org"
STREAM = "wss://studio.example.org/stream"


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with openid_provider() as provider:
        yield provider


def people_of(provider: OpenIdProvider, allow: str = "example.org", **more: Any) -> People:
    return People(provider.issuer, client_id=CLIENT, client_secret=provider.secret, allow=allow, **more)


async def _seen(request: Any) -> PlainTextResponse:
    return PlainTextResponse(f"{request.headers.get(PERSON)} {request.headers.get(VIEWED)}")


async def _stream(websocket: WebSocket) -> None:
    await websocket.accept()
    async for _ in websocket.iter_text():
        await websocket.send_text(str(websocket.headers.get(PERSON)))


async def _nowhere(*_: Any) -> None:
    raise AssertionError("a login asks the app nothing")


def client_of(people: People) -> TestClient:
    """A browser at an app that answers who it takes it for."""
    routes = [WebSocketRoute("/stream", _stream), Route("/{any:path}", _seen, methods=["GET", "PUT"])]
    links = ViewLinks(people, lambda _: 0)
    app = Starlette(routes=routes, middleware=[Middleware(Login, logins=people, links=links)])
    return TestClient(app, base_url=HERE, client=("192.168.1.9", 1), follow_redirects=False)


def returned(client: TestClient, to: str = "./") -> str:
    """Where the provider sends a browser back to that begins a login."""
    answer = client.get("/login", params={"to": to})
    assert answer.status_code == 303, answer.text
    back = httpx.get(answer.headers["location"], trust_env=False).headers["location"]
    assert back.startswith(f"{HERE}/oauth2callback?")
    return str(back)


def log_in(client: TestClient, to: str = "./") -> Any:
    return client.get(returned(client, to), headers=PAGE)


# -- who is logged in ------------------------------------------------------------------------------


def test_a_person_logs_in_at_the_page_they_asked_for_and_logs_out(provider: OpenIdProvider) -> None:
    client = client_of(people_of(provider))
    page = client.get("/sessions?q=a%26b", headers=PAGE)
    assert (page.status_code, 'type="password"' in page.text) == (401, False)
    assert '"/login?to=.%2Fsessions%3Fq%3Da%2526b"' in page.text
    answer = log_in(client, "./sessions?q=a%26b")
    assert (answer.status_code, answer.headers["location"]) == (303, "./sessions?q=a%26b")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("conductor-session=")
    assert {"HttpOnly", "SameSite=lax", "Secure", f"Max-Age={SESSION_SECONDS}"} <= set(
        cookie.split(",")[0].split("; ")
    )
    assert client.get("/", headers={PERSON: "eve", VIEWED: "one"}).text == "ada%40example.org None"
    with client.websocket_connect(STREAM, headers={PERSON: "eve"}) as stream:
        stream.send_text("who")
        assert stream.receive_text() == "ada%40example.org"
        client.get("/logout")
        stream.send_text("who")
        with pytest.raises(WebSocketDisconnect):
            stream.receive_text()
    assert client.get("/").status_code == 401


@pytest.mark.parametrize(
    ("allow", "claims", "person"),
    [
        ("ada@example.org", {}, "ada@example.org"),
        ("@example.org, else.org", {}, "ada@example.org"),
        ("*", {"email_verified": False, "preferred_username": " Ada\nL. "}, "Ada L."),
        ("*", {"email": None, "preferred_username": "\x07"}, "1815"),
        ("example.org", {"email_verified": "true"}, "ada@example.org"),
    ],
)
def test_the_name_is_the_verified_address_else_the_user_name_else_the_subject(
    provider: OpenIdProvider, allow: str, claims: dict[str, Any], person: str
) -> None:
    provider.claims |= claims
    people = people_of(provider, allow)
    client = client_of(people)
    assert log_in(client).status_code == 303
    assert people.read_session(client.cookies["conductor-session"]) == person


@pytest.mark.parametrize("how", ["userinfo", "secrets_by_post"])
def test_a_provider_may_have_the_address_or_take_the_secret_elsewhere(
    provider: OpenIdProvider, how: str
) -> None:
    setattr(provider, how, True)
    assert log_in(client_of(people_of(provider))).status_code == 303


def test_another_process_ends_a_login_and_takes_its_session(provider: OpenIdProvider) -> None:
    one, other = client_of(people_of(provider)), client_of(people_of(provider))
    back = returned(one)
    other.cookies = one.cookies
    assert other.get(back).status_code == 303
    one.cookies = other.cookies
    assert one.get("/").text.startswith("ada")


def test_a_session_ends_after_its_time_and_where_its_person_may_not_log_in_any_more(
    provider: OpenIdProvider,
) -> None:
    now = time.time()
    session = people_of(provider, clock=lambda: now).open_session("ada@example.org")
    assert people_of(provider, "else.org").read_session(session) is None
    assert people_of(provider).read_session(session) == "ada@example.org"
    now += SESSION_SECONDS
    assert people_of(provider, clock=lambda: now).read_session(session) is None


def test_a_view_only_link_admits_to_its_session_without_a_login(provider: OpenIdProvider) -> None:
    people = people_of(provider)
    client = client_of(people)
    link = f"/?session=one&view={ViewLinks(people, lambda _: 0).value('one')}"
    assert client.get(link, headers=PAGE | {PERSON: "eve"}).text == "None one"
    assert client.get("/?session=two", headers=PAGE).status_code == 401
    log_in(client)
    assert client.get(link, headers=PAGE).text == "ada%40example.org None"


@pytest.mark.parametrize("path", ["/", "/sessions", "/changes", "/_stcore/upload_file", "/oauth2callback/x"])
def test_without_a_login_nothing_is_answered(provider: OpenIdProvider, path: str) -> None:
    client = client_of(people_of(provider))
    for answer in (client.get(path), client.put(path, content=b"x"), client.get(path, headers=PAGE)):
        assert answer.status_code == 401
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(STREAM):
        pass
    assert client.post("/", data={"password": SECRET}).status_code == 401, "there is no password"


@pytest.mark.parametrize(
    "to", ["//else.org", "https://else.org/x", "\\\\else.org", "..//else.org", "x\r\nSet-Cookie: a=b"]
)
def test_a_login_leads_to_no_other_server(provider: OpenIdProvider, to: str) -> None:
    location = log_in(client_of(people_of(provider)), to).headers["location"]
    assert location.startswith("./")
    assert "/" not in location[2:]
    assert location.isprintable()


# -- what admits no person -------------------------------------------------------------------------


OTHER_KEY = generate_private_key(public_exponent=65537, key_size=2048)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"token": {"nonce": "another"}}, "of another login"),
        ({"token": {"nonce": None}}, "of another login"),
        ({"token": {"aud": "another"}}, "for another client"),
        ({"token": {"aud": ["studio", "b"], "azp": "b"}}, "for another client"),
        ({"token": {"iss": "https://else.org"}}, "another provider"),
        ({"token": {"exp": 1}}, "has expired"),
        ({"token": {"iat": 9_999_999_999}}, "not valid yet"),
        ({"token": {"exp": None}}, "is damaged"),
        ({"token": {"sub": None}}, "is damaged"),
        ({"algorithm": "none", "key": None}, "signs its ID tokens with 'none'"),
        ({"algorithm": "HS256", "key": SECRET.ljust(32)}, "signs its ID tokens with 'HS256'"),
        pytest.param({"key": OTHER_KEY}, "signature is wrong", id="another key"),
        ({"claims": {"email": "eve@else.org", "email_verified": True}}, "eve@else.org may not log in here"),
        ({"claims": {"email": "eve@sub.example.org", "email_verified": True}}, "may not log in here"),
        ({"claims": {"email": "ada@example.org", "email_verified": False}}, "no verified e-mail address"),
        ({"claims": {"email": "example.org", "email_verified": True}}, "may not log in here"),
        ({"claims": {"email": "ada@example.org"}}, "no verified e-mail address"),
        ({"claims": {"preferred_username": "ada@example.org"}}, "no verified e-mail address"),
        ({"refusal": "access_denied"}, "did not log you in (access_denied)"),
        ({"secret": "another"}, "does not accept this server (invalid_client)"),
    ],
    ids=str,
)
def test_what_the_provider_gets_wrong_admits_no_person(
    provider: OpenIdProvider, change: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in change.items():
        setattr(provider, name, value)
    client = client_of(people_of(provider))
    with caplog.at_level(logging.DEBUG):
        answer = log_in(client)
    assert answer.status_code == 401
    assert reason in answer.text.replace("&#39;", "'")
    assert "conductor-session" not in answer.headers.get("set-cookie", "")
    assert client.get("/").status_code == 401
    for text in (answer.text, caplog.text, str(answer.headers)):
        assert not [secret for secret in (provider.secret, "eyJ") if secret in text]


def test_a_login_is_for_the_browser_that_began_it_and_once(provider: OpenIdProvider) -> None:
    people = people_of(provider)
    client = client_of(people)
    back = returned(client)
    state = parse_qs(urlsplit(back).query)["state"][0]
    held = dict(client.cookies)
    wrong = [
        back.replace(state, "0" * 64),
        back.replace(state, state[:8] + "0" * 56),
        back.split("&state")[0],
    ]
    for address in wrong:
        answer = client.get(address, headers=PAGE)
        assert (answer.status_code, "begun in another browser" in answer.text) == (401, True)
    client.cookies.clear()
    assert client_of(people).get(back).status_code == 401, "another browser"
    client.cookies.update(held)
    assert client.get(back).status_code == 303
    client.cookies.clear()
    client.cookies.update(held)
    assert "begun in another browser" in client.get(back, headers=PAGE).text, "it was replayed"


@pytest.mark.parametrize(("seconds", "status"), [(ATTEMPT_SECONDS - 1, 303), (ATTEMPT_SECONDS, 401)])
def test_a_login_is_ended_within_ten_minutes(provider: OpenIdProvider, seconds: int, status: int) -> None:
    moments = [1_800_000_000.0]
    client = client_of(people_of(provider, clock=lambda: moments[-1]))
    back = returned(client)
    moments.append(moments[0] + seconds)
    assert client.get(back).status_code == status


@pytest.mark.parametrize("app_url", ["", "https://studio.example.org/below/"])
def test_the_provider_sends_a_browser_back_below_the_path_of_the_app(
    provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch, app_url: str
) -> None:
    monkeypatch.setenv("CONDUCTOR_APP_URL", app_url)
    client = TestClient(Login(_nowhere, logins=people_of(provider), below="below"), base_url=HERE)
    assert '"/below/login?to=.%2Fsessions"' in client.get("/below/sessions", headers=PAGE).text
    answer = client.get("/below/login?to=./sessions", follow_redirects=False)
    back = httpx.get(answer.headers["location"], trust_env=False).headers["location"]
    assert back.startswith(f"{HERE}/below/oauth2callback?")
    answer = client.get(back, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "./sessions")


def test_an_answer_of_another_provider_is_refused(provider: OpenIdProvider) -> None:
    client = client_of(people_of(provider))
    assert client.get(f"{returned(client)}&iss=https://else.org", headers=PAGE).status_code == 401
    assert client.get(f"{returned(client)}&iss={provider.issuer}", headers=PAGE).status_code == 303


def test_a_provider_that_is_away_or_another_one_is_named_on_the_page(provider: OpenIdProvider) -> None:
    people = people_of(provider)
    provider.issuer = "https://else.org"
    answer = client_of(people).get("/login")
    assert "names itself" in answer.text
    assert "CONDUCTOR_OIDC_ISSUER" in answer.text
    gone = People("http://127.0.0.1:9", client_id=CLIENT, client_secret=SECRET, allow="*")
    answer = client_of(gone).get("/login")
    assert (answer.status_code, "127.0.0.1:9 cannot be reached" in answer.text) == (401, True)


def test_a_login_that_failed_is_tried_again_for_the_same_page(provider: OpenIdProvider) -> None:
    client = client_of(people_of(provider))
    denied = returned(client, "./?session=1").replace("code=", "error=access_denied&no=")
    gone = client_of(People("http://127.0.0.1:9", client_id=CLIENT, client_secret=SECRET, allow="*"))
    for answer in (client.get(denied), gone.get("/login", params={"to": "./?session=1"})):
        assert (answer.status_code, '"/login?to=.%2F%3Fsession%3D1"' in answer.text) == (401, True)


@pytest.mark.parametrize("state", ['é\x00;,"', "a b=c", "../x"])
def test_a_state_that_no_login_has_admits_no_person(provider: OpenIdProvider, state: str) -> None:
    client = client_of(people_of(provider))
    name = "conductor-login-" + state[:8]
    cookie = {"cookie": f"{name}=x; conductor-login-=x; conductor-login-abc=x".encode()}
    answer = client.get("/oauth2callback", params={"state": state, "code": "x"}, headers=PAGE | cookie)
    assert answer.status_code == 401
    assert "begun in another browser" in answer.text
