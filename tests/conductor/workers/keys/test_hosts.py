"""A key is sent to the hosts that are known for it or that a person confirmed, and to no other."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.workers.health.probe import targets, unconfirmed, unconfirmed_in
from conductor.workers.keys.hosts import (
    BASE_URL,
    HOSTS,
    KeyHost,
    confirm,
    hosts_file,
    is_confirmed,
    origin_of,
)
from conductor.workers.pool.pool import parse_pool, read_pool
from tests.support.endpoints.chat_cases import ask, client, lines_of
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import raw_endpoint, replies

PAIR = KeyHost("ALPHA_API_KEY", "https://api.example.com")
OTHER = KeyHost("ALPHA_API_KEY", "https://other.example.com")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of our own, in whose home nothing was confirmed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.example.com:443/v1", "https://api.example.com"),
        ("https://api.example.com:8443/v1?a=b", "https://api.example.com:8443"),
        ("http://api.example.com/v1", "http://api.example.com"),
        ("http://[::1]:8000/v1", "http://[::1]:8000"),
        ("api.example.com", "https://api.example.com"),
    ],
)
def test_an_origin_is_scheme_host_and_unusual_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    ("variable", "url", "is_known"),
    [
        ("OPENAI_API_KEY", "https://api.openai.com/v1", True),
        ("OPENAI_API_KEY", "http://api.openai.com/v1", False),
        ("OPENAI_API_KEY", "https://api.openai.com:8443/v1", False),
        ("OPENAI_API_KEY", "https://api.openai.com.example.com/v1", False),
        ("OPENAI_API_KEY", "http://localhost:8000/v1", False),
        ("OPENROUTER_API_KEY", "https://api.openai.com/v1", False),
        ("VLLM_API_KEY", "http://127.0.0.1:8001/v1", True),
        ("CONDUCTOR_KEY", "http://[::1]:8000/v1", True),
        ("CONDUCTOR_KEY", "https://example.com/v1", False),
    ],
)
def test_what_the_example_names_is_known_and_nothing_else_is(variable: str, url: str, is_known: bool) -> None:
    assert is_confirmed(KeyHost(variable, origin_of(url))) is is_known


def test_what_was_confirmed_stands_in_a_file_of_its_owner_and_not_beside_the_pool(tmp_path: Path) -> None:
    assert not is_confirmed(PAIR)
    for pair in (PAIR, PAIR, KeyHost("OPENAI_API_KEY", "https://api.openai.com")):
        confirm(pair)
    assert is_confirmed(PAIR)
    assert not is_confirmed(OTHER)
    assert not is_confirmed(KeyHost("BETA_API_KEY", PAIR.origin))
    assert hosts_file() == tmp_path / "config/conductor-studio/key-hosts.txt"
    assert hosts_file().read_text(encoding="utf-8") == "ALPHA_API_KEY https://api.example.com\n"
    assert stat.S_IMODE(hosts_file().stat().st_mode) == 0o600


def test_what_was_confirmed_for_one_pool_file_is_not_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", "sk-marked-0123")
    table = f'name = "m"\nmodel = "m"\nbase_url = "{PAIR.origin}/v1"\napi_key_env = "ALPHA_API_KEY"\n'
    text = f"[[worker]]\n{table}[conductor]\n{table}[embeddings]\n{table.partition(chr(10))[2]}"
    own, other = tmp_path / "my own\npool.toml", tmp_path / "cloned/pool.toml"
    other.parent.mkdir()
    for path in (own, other):
        path.write_text(text, encoding="utf-8")
    pair = PAIR._replace(pool=str(own))
    assert unconfirmed_in(read_pool(own)) == (pair,)
    confirm(pair)
    assert unconfirmed_in(read_pool(own)) == ()
    assert unconfirmed_in(read_pool(other)) == (PAIR._replace(pool=str(other)),)
    # Nor does a file count that came with the folder, wherever it was looked for before.
    (other.parent / "data").mkdir()
    (other.parent / "data/key-hosts.txt").write_bytes(hosts_file().read_bytes())
    (other.parent / "data/key-hosts.txt").chmod(0o600)
    monkeypatch.chdir(other.parent)
    assert unconfirmed_in(read_pool(Path("pool.toml"))) == (PAIR._replace(pool=str(other)),)


@pytest.mark.parametrize("mode", [0o644, 0o620])
def test_a_file_that_is_not_its_owners_alone_confirms_nothing(mode: int) -> None:
    confirm(PAIR)
    hosts_file().chmod(mode)
    for look in (is_confirmed, confirm):
        with pytest.raises(PoolError, match=r"is not yours alone \(mode 600\), so nothing in it counts"):
            look(PAIR)


def test_a_line_that_was_cut_off_is_not_continued() -> None:
    confirm(PAIR)
    hosts_file().write_text("ALPHA_API_KEY https://api.exam", encoding="utf-8")
    confirm(OTHER)
    assert not is_confirmed(PAIR)
    assert is_confirmed(OTHER)


def test_two_that_confirm_a_pair_at_once_add_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conductor.workers.keys.hosts.is_confirmed", lambda _pair: False)
    for _ in range(2):
        confirm(PAIR)
    assert len(hosts_file().read_text("utf-8").splitlines()) == 1


def test_the_environment_confirms_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS, " ALPHA_API_KEY=api.example.com , ALPHA_API_KEY=http://gpu:8000/v1,")
    assert is_confirmed(PAIR)
    assert is_confirmed(KeyHost("ALPHA_API_KEY", "http://gpu:8000"))
    assert not is_confirmed(OTHER)


def test_the_address_that_openais_clients_read_is_confirmed_for_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(BASE_URL, "https://api.example.com/v1")
    assert is_confirmed(KeyHost("OPENAI_API_KEY", PAIR.origin))
    assert not is_confirmed(PAIR)
    monkeypatch.setenv(BASE_URL, "http://a:b/v1")
    assert not is_confirmed(KeyHost("OPENAI_API_KEY", PAIR.origin))


@pytest.mark.parametrize("entry", ["ALPHA_API_KEY", "ALPHA_API_KEY=", "ALPHA_API_KEY=https://a:b"])
def test_an_entry_of_the_environment_that_is_no_pair_is_named(
    entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOSTS, entry)
    with pytest.raises(
        PoolError, match="CONDUCTOR_KEY_HOSTS has an entry that is not a pair; write NAME=HOST"
    ):
        is_confirmed(PAIR)


def test_each_pair_is_asked_about_once_and_only_where_there_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    table = '[[worker]]\nname = "{}"\nmodel = "m"\nbase_url = "{}/v1"\napi_key_env = "{}_API_KEY"\n'
    text = "".join(
        table.format(name, url, key)
        for name, url, key in [
            ("one", PAIR.origin, "ALPHA"),
            ("two", PAIR.origin, "ALPHA"),
            ("three", OTHER.origin, "ALPHA"),
            ("unset", OTHER.origin, "BETA"),
            ("known", "https://api.openai.com", "OPENAI"),
        ]
    )
    monkeypatch.setenv("ALPHA_API_KEY", "sk-marked-0123")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marked-0123")
    assert unconfirmed(targets(parse_pool(text))) == (PAIR, OTHER)
    assert list(parse_pool(text).unusable) == ["one", "two", "three", "unset"]


async def test_no_request_is_sent_while_the_host_is_not_confirmed(
    fake_openai: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", "sk-marked-0123")
    chat = client(fake_openai.base_url, api_key_env="ALPHA_API_KEY")
    [line] = await lines_of(ask(chat))
    origin = origin_of(fake_openai.base_url)
    assert line.startswith(f"error: alpha: ALPHA_API_KEY is not confirmed for {origin}, so it is not sent")
    assert not fake_openai.log.entries
    confirm(KeyHost("ALPHA_API_KEY", origin))
    assert (await lines_of(ask(chat)))[-1] != line
    assert fake_openai.settled().authorization_sent


async def test_a_redirect_takes_no_key_to_another_host(
    fake_openai: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", "sk-marked-0123")
    away = f"Location: {fake_openai.base_url}/chat/completions\r\n"
    async with raw_endpoint(replies(b"", status="307 Temporary Redirect", more=away)) as base_url:
        confirm(KeyHost("ALPHA_API_KEY", origin_of(base_url)))
        [line] = await lines_of(ask(client(base_url, api_key_env="ALPHA_API_KEY")))
    assert "307" in line
    assert not fake_openai.log.entries


def test_a_folder_that_cannot_be_made_is_named() -> None:
    hosts_file().parent.parent.write_text("no folder", encoding="utf-8")
    with pytest.raises(PoolError, match=r"key-hosts\.txt cannot be "):
        confirm(PAIR)
