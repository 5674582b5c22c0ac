"""What is found comes into the pool by one click; a key that is pasted is kept where keys are."""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path

import pytest

from conductor.workers.discovery.local_servers import PORTS
from conductor.workers.discovery.offers import BASE_URL
from conductor.workers.keys.secret import find_secret
from conductor.workers.keys.services import HOSTED
from pages.components.tab import services
from tests.support.endpoints.fake_openai import FakeOpenAI, serving

KEY = "sk-proj-marked-0123456789"


@pytest.fixture(scope="module")
def ollama():
    models = ("gemma3:4b", "qwen3:8b")
    with serving(FakeOpenAI(models=models, owned_by="library", lists_faults=False)) as served:
        yield served


@pytest.fixture(scope="module")
def openai():
    with serving(FakeOpenAI(models=("gpt-5", "gpt-5-mini"), key=KEY, lists_faults=False)) as served:
        yield served


@pytest.fixture
def opened(app, tmp_path, monkeypatch):
    """Opens a page in a folder of its own: `opened("workbench", OPENAI_API_KEY=...)`."""

    def open_page(name="workbench", **settings):
        # The app's own folder stays its folder while it is opened.
        for variable, value in settings.items():
            monkeypatch.setenv(variable, value)
        services.access.cache_clear()
        page = app(name)
        monkeypatch.chdir(tmp_path)
        return page.run()

    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "pool.toml"))
    (tmp_path / "pool.toml").write_text('[[worker]]\nkind = "calculator"\nname = "facts"\n', encoding="utf-8")
    return open_page


def port_of(served):
    return served.base_url.removeprefix("http://127.0.0.1:").removesuffix("/v1")


def texts(page):
    parts = (*page.markdown, *page.caption, *page.error, *page.info)
    return "\n".join(re.sub(r"\\(.)", r"\1", str(element.value)).replace("\u2060", "") for element in parts)


def press(page, label):
    [button] = [button for button in page.button if button.label == label]
    button.click().run()
    assert not page.exception
    return page


def pool_file():
    return tomllib.loads(Path("pool.toml").read_text(encoding="utf-8"))


def test_a_local_server_comes_into_the_pool_by_one_click_and_is_not_offered_again(opened, ollama):
    page = opened(**{PORTS: port_of(ollama)})
    assert "**gemma3:4b, qwen3:8b** on this machine, served by Ollama" in texts(page)
    press(page, "Use them")
    assert "Added gemma3, qwen3 (Ollama)." in texts(page)
    assert [worker["name"] for worker in pool_file()["worker"]] == ["facts", "gemma3", "qwen3"]
    assert "on this machine, served by" not in texts(page)
    page.button(key="pool-undo").click().run()
    assert [worker["name"] for worker in pool_file()["worker"]] == ["facts"]


def test_a_key_of_the_environment_is_named_and_its_service_asked_after_the_click(opened, openai):
    openai.log.clear()
    page = opened("pool", OPENAI_API_KEY=KEY, **{BASE_URL: openai.base_url})
    assert f"**OPENAI_API_KEY** is set, to be sent to {openai.base_url.removesuffix('/v1')}" in texts(page)
    assert not openai.log.entries
    press(page, "Use OpenAI")
    assert "Added gpt-5, gpt-5-mini (OpenAI)." in texts(page)
    assert [entry.path for entry in openai.log.entries] == ["/v1/models"]
    assert KEY not in texts(page) + Path("pool.toml").read_text(encoding="utf-8")


def paste(page, key, service=None):
    page.text_input(key="found-key").set_value(key)
    if service is not None:
        page.selectbox(key="found-service").set_value(service)
    return press(page, "Use the key")


def test_a_key_that_is_pasted_is_kept_for_its_owner_and_brings_its_models(opened, openai, tmp_path):
    page = paste(opened(**{BASE_URL: openai.base_url}), KEY)
    assert "Added gpt-5, gpt-5-mini (OpenAI)." in texts(page)
    secrets = tmp_path / ".streamlit" / "secrets.toml"
    assert tomllib.loads(secrets.read_text(encoding="utf-8")) == {"OPENAI_API_KEY": KEY}
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    holders = [
        file.name for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()
    ]
    assert holders == ["secrets.toml"]
    assert page.text_input(key="found-key").value == ""
    assert KEY not in texts(page)


@pytest.mark.parametrize(
    ("key", "service", "message"),
    [
        (
            "sk-0123456789abcdef",
            None,
            "This key does not show its service. Paste it again and choose the service.",
        ),
        (
            "sk-ant-0123456789",
            HOSTED[0],
            "This looks like a key of Anthropic, not of OpenAI; choose Anthropic.",
        ),
        (
            "sk-proj-two words",
            None,
            "This is not a key: keys have no spaces or line breaks. Copy the key again.",
        ),
        ("sk-proj-another-0123456789", None, "answered 401 Unauthorized"),
    ],
)
def test_a_key_that_cannot_be_used_is_answered_in_a_sentence_without_it(
    opened, openai, key, service, message
):
    page = paste(opened(**{BASE_URL: openai.base_url}), key, service)
    assert message in texts(page)
    assert key not in texts(page)
    assert [worker["name"] for worker in pool_file()["worker"]] == ["facts"]
    assert page.text_input(key="found-key").value == ""
    assert find_secret("OPENAI_API_KEY") is None


def test_a_key_that_its_service_refuses_leaves_the_one_before(opened, openai):
    page = paste(opened(**{BASE_URL: openai.base_url}), KEY)
    page = paste(page, "sk-proj-another-0123456789")
    assert "the key was not stored." in texts(page)
    assert find_secret("OPENAI_API_KEY") == KEY


def test_a_port_that_is_none_is_named_on_the_page(opened):
    assert "CONDUCTOR_LOCAL_PORTS has an entry that is not a port" in texts(opened(**{PORTS: "here"}))


@pytest.mark.parametrize("name", ["workbench", "pool"])
def test_who_may_not_change_the_pool_is_offered_nothing(opened, ollama, name):
    page = opened(name, CONDUCTOR_API_HOSTS="studio.example.org", **{PORTS: port_of(ollama)})
    assert "served by Ollama" not in texts(page)
    assert not [button for button in page.button if button.label in ("Use them", "Use the key")]
