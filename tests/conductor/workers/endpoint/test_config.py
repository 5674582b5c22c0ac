"""An endpoint holds where and how to ask, and refuses to hold a key."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from conductor.errors import PoolError
from conductor.workers.endpoint.config import Endpoint, Patience
from conductor.workers.keys.hosts import HOSTS

URL = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        (URL, f"{URL}/chat/completions"),
        (f"{URL}/", f"{URL}/chat/completions"),
        (f"{URL}/?api-version=2", f"{URL}/chat/completions?api-version=2"),
        ("http://localhost:8000", "http://localhost:8000/chat/completions"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_paths_are_joined_to_the_base_url(base_url: str, address: str) -> None:
    assert str(Endpoint(base_url=base_url, model="m").url("chat/completions")) == address


@pytest.mark.parametrize(
    ("base_url", "host"),
    [(URL, "api.example.com"), ("http://localhost:8000/v1", "localhost:8000"), ("http://[::1]:1", "[::1]:1")],
)
def test_sentences_name_the_host_with_its_port(base_url: str, host: str) -> None:
    assert Endpoint(base_url=base_url, model="m").host == host


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "localhost:8000/v1",
        "ftp://example.com",
        "http://",
        "http://h:port",
        "http://user:sk-marked@example.com/v1",
        "http://sk-marked@example.com/v1",
        "https://example.com/v1?key=sk-marked",
        "https://example.com/v1?api-version=1&api-key=sk-marked",
        "https://example.com/v1?access_token=sk-marked",
        "https://example.com/v1?Subscription-Key=sk-marked",
        "https://example.com/v1?sig=sk-marked",
    ],
)
def test_a_base_url_that_is_none_or_holds_a_secret_is_refused(base_url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Endpoint(base_url=base_url, model="m")
    assert "sk-marked" not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "correction"),
    [
        ("http://127.0.0.1:11434/v1/chat/completions", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/api/generate", "http://127.0.0.1:11434/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
    ],
)
def test_the_address_of_a_call_is_refused_with_the_base_url_to_write(base_url: str, correction: str) -> None:
    with pytest.raises(ValidationError, match=f"this is the address of a call; write {correction}"):
        Endpoint(base_url=base_url, model="m")


@pytest.mark.parametrize(
    "variable", ["sk-marked", "MY KEY", "", "1KEY", "AIzaMarked0123456789", "AKIAMARKED0123456789", "Key_1"]
)
def test_the_name_of_a_variable_is_no_key(variable: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Endpoint(base_url=URL, model="m", api_key_env=variable)
    assert "not the key itself" in str(caught.value)
    assert "marked" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("PATH", "PATH may not be sent as a key: the name of a key ends in _API_KEY"),
        ("AWS_SECRET_ACCESS_KEY", "list AWS_SECRET_ACCESS_KEY in CONDUCTOR_KEY_NAMES"),
        ("CONDUCTOR_DATABASE_URL", "CONDUCTOR_DATABASE_URL is a setting of this program"),
    ],
)
def test_only_the_name_of_a_key_is_taken(variable: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Endpoint(base_url=URL, model="m", api_key_env=variable)


@pytest.mark.parametrize(
    "extra",
    [
        {"model": "other"},
        {"stream": False},
        {"max_tokens": 4},
        {"api_key": "sk-marked"},
        {"Authorization": "sk-marked"},
        {"top_p": float("nan")},
        {"when": object()},
    ],
)
def test_extra_parameters_replace_no_key_and_hold_none(extra: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        Endpoint(base_url=URL, model="m", extra=extra)
    assert "sk-marked" not in str(caught.value)


def test_what_decides_answers_is_one_text_whatever_its_order() -> None:
    one = Endpoint(base_url=URL, model="m", extra={"a": 1, "b": {"c": [1], "d": 2}}, reasoning_effort="low")
    same = Endpoint(base_url=URL, model="m", extra={"b": {"d": 2, "c": [1]}, "a": 1}, reasoning_effort="low")
    assert one.parameters == same.parameters
    assert one.parameters == '{"extra": {"a": 1, "b": {"c": [1], "d": 2}}, "reasoning_effort": "low"}'
    assert Endpoint(base_url=URL, model="m", retries=0, api_key_env="ANY_API_KEY").parameters == ""


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_patience_ends(seconds: float) -> None:
    with pytest.raises(ValidationError):
        Patience(total=seconds)


def test_the_key_is_looked_up_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint(base_url=URL, model="m", api_key_env="ALPHA_API_KEY")
    with pytest.raises(PoolError, match=r"ALPHA_API_KEY is not set; export it, or write it into .*\.toml"):
        endpoint.key()
    monkeypatch.setenv("ALPHA_API_KEY", "sk-marked")
    with pytest.raises(PoolError, match=r"^ALPHA_API_KEY is not confirmed for .*, so it is not sent there; "):
        endpoint.key()
    monkeypatch.setenv(HOSTS, f"ALPHA_API_KEY={URL}")
    assert endpoint.key() == "sk-marked"
    assert "sk-marked" not in repr(endpoint) + endpoint.model_dump_json()
    assert Endpoint(base_url=URL, model="m").key() is None


@pytest.mark.parametrize(
    ("base_url", "times", "characters", "first_token", "total"),
    [
        ("http://127.0.0.1:8080/v1", {}, 0, 300, 1_200),
        ("http://localhost:8080/v1", {}, 3_400, 640, 1_540),
        ("http://[::1]:8080/v1", {}, 3_400, 640, 1_540),
        ("http://127.0.0.1:8080/v1", {"first_token": 5.0}, 3_400, 5, 1_540),
        ("http://127.0.0.1:8080/v1", {"first_token": 120.0, "total": 600.0}, 3_400, 120, 600),
        ("http://192.168.0.7:8080/v1", {}, 3_400, 120, 600),
        ("https://api.openai.com/v1", {}, 3_400, 120, 600),
        ("https://localhost.example.org/v1", {}, 3_400, 120, 600),
    ],
)
def test_a_server_on_this_machine_is_waited_for_by_the_length_of_the_prompt(
    base_url: str, times: dict[str, float], characters: int, first_token: float, total: float
) -> None:
    patience = (
        Endpoint(base_url=base_url, model="m", patience=Patience(**times)).for_prompt(characters).patience
    )
    assert (patience.first_token, patience.total) == (first_token, total)
    assert (patience.connect, patience.between_tokens) == (10, 60)
