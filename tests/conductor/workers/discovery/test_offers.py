"""What is offered, what is asked for after a click, and what then stands in the pool file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.workers.discovery.local_servers import LocalServer
from conductor.workers.discovery.offers import Offer, list_models, of_service, offers, with_offer
from conductor.workers.endpoint.catalogue import ServedModel
from conductor.workers.keys.hosts import BASE_URL, hosts_file
from conductor.workers.keys.services import HOSTED
from conductor.workers.pool.pool import built_in_pool, parse_pool
from conductor.workers.pool.toml_editor import PoolDocument
from tests.support.endpoints.fake_openai import FakeOpenAI, serving

KEY = "sk-marked-0123456789"
OLLAMA = LocalServer(
    "Ollama",
    "http://127.0.0.1:11434/v1",
    tuple(ServedModel(name=name) for name in ("qwen3:8b", "gemma3:27b", "nomic-embed-text:latest")),
)
POOL = """\
[[worker]]
name = "mine"
base_url = "http://localhost:11434/v1/"
model = "gemma3:27b"
"""


@pytest.fixture(scope="module")
def service():
    """OpenAI's list, where it is served here."""
    names = ("gpt-4o", "gpt-5", "text-embedding-3-large", "gpt-5-mini")
    with serving(FakeOpenAI(models=names, key=KEY, lists_faults=False)) as served:
        yield served


def test_servers_and_keys_are_offered_by_what_the_pool_does_not_have(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    local, keyed = offers(built_in_pool(), [OLLAMA])
    assert [model.name for model in local.models or ()] == ["qwen3:8b", "gemma3:27b"]
    assert keyed == Offer("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
    left, _ = offers(parse_pool(POOL), [OLLAMA])
    assert [model.name for model in left.models or ()] == ["qwen3:8b"]
    both = POOL + POOL.replace("mine", "other").replace("gemma3:27b", "qwen3:8b")
    assert offers(parse_pool(both), [OLLAMA]) == (keyed,)
    hosted = POOL.replace("http://localhost:11434/v1/", keyed.base_url)
    assert [offer.name for offer in offers(parse_pool(hosted), [OLLAMA])] == ["Ollama"]


@pytest.mark.parametrize("service", HOSTED, ids=lambda service: service.name)
def test_every_service_is_offered_by_its_variable_and_its_host_needs_no_further_question(
    service, monkeypatch
):
    monkeypatch.setenv(service.api_key_env, KEY)
    [offer] = offers(built_in_pool(), [])
    assert (offer.name, offer.models, offer.has_known_host) == (service.name, None, True)


async def test_a_list_is_asked_for_once_with_the_key_and_the_sensible_ones_are_taken(service, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(BASE_URL, service.base_url)
    [offer] = offers(built_in_pool(), [])
    assert not offer.has_known_host
    assert not service.log.entries
    listed = await list_models(offer)
    assert [model.name for model in listed.models or ()] == ["gpt-5", "gpt-5-mini"]
    assert [entry.path for entry in service.log.entries] == ["/v1/models"]
    assert not hosts_file().exists()
    assert await list_models(listed) is listed


@pytest.mark.parametrize(
    ("key", "path", "message"),
    [
        ("sk-another-0123456789", "/v1", "answered 401 Unauthorized"),
        (KEY, "/v2", "answered 404 Not Found"),
    ],
)
async def test_a_failure_is_one_sentence_without_the_key(service, monkeypatch, key, path, message):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv(BASE_URL, service.base_url.removesuffix("/v1") + path)
    with pytest.raises(PoolError) as caught:
        await list_models(of_service(HOSTED[0]))
    assert message in str(caught.value)
    assert str(caught.value).startswith("OpenAI: 127.0.0.1:")
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["http://a:b/v1", "http://user:word@127.0.0.1/v1", "ftp://127.0.0.1/v1"])
async def test_an_address_of_the_environment_that_is_none_gets_no_key(monkeypatch, url):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(BASE_URL, url)
    with pytest.raises(PoolError, match=r"^OPENAI_BASE_URL") as caught:
        await list_models(of_service(HOSTED[0]))
    assert "word" not in str(caught.value).replace("password", "")
    assert not hosts_file().exists()


async def test_a_list_without_a_model_that_answers_is_named(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(FakeOpenAI(models=("whisper-1",), lists_faults=False)) as served:
        monkeypatch.setenv(BASE_URL, served.base_url)
        with pytest.raises(PoolError, match="OpenAI lists no model that answers questions; add one by hand"):
            await list_models(of_service(HOSTED[0]))


def opened(text: str | None) -> PoolDocument:
    if text is not None:
        Path("pool.toml").write_text(text, encoding="utf-8")
    return PoolDocument.opened(Path("pool.toml"))


def test_a_new_file_gets_the_workers_and_the_largest_as_conductor():
    [offer] = offers(built_in_pool(), [OLLAMA])
    document, done = with_offer(opened(None), offer)
    assert done == "Added qwen3, gemma3 (Ollama); gemma3:27b writes the workflows."
    pool = document.save()
    assert pool.names == ("qwen3", "gemma3")
    assert pool.conductor is not None
    assert pool.conductor.model == "gemma3:27b"
    assert tomllib.loads(document.text)["worker"][0] == {
        "name": "qwen3",
        "base_url": "http://127.0.0.1:11434/v1",
        "model": "qwen3:8b",
        "strengths": "mathematics and code",
        "concurrency": 1,
    }


def test_a_file_that_is_there_keeps_what_it_has_and_who_plans():
    text = f"# Ours.\n{POOL}".replace("gemma3:27b", "other").replace("mine", "gemma3")
    [offer] = offers(parse_pool(text), [OLLAMA])
    document, done = with_offer(opened(text), offer)
    assert done == "Added qwen3, gemma3-27b (Ollama)."
    assert document.text.startswith("# Ours.\n")
    assert document.pool().conductor is None


def test_models_that_the_file_has_are_not_added_again():
    [offer] = offers(built_in_pool(), [OLLAMA])
    document, _ = with_offer(opened(POOL), offer)
    assert [worker["model"] for worker in document.workers] == ["gemma3:27b", "qwen3:8b"]
    assert with_offer(document, offer) == (document, "The pool has the models of Ollama already.")


def test_a_service_of_one_key_is_written_by_its_variable_alone(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    [offer] = offers(built_in_pool(), [])
    listed = offer._replace(models=(ServedModel(name="claude-sonnet-9"), ServedModel(name="claude-haiku-9")))
    document, done = with_offer(opened(None), listed)
    assert done == "Added claude-sonnet-9, claude-haiku-9 (Anthropic); claude-sonnet-9 writes the workflows."
    assert KEY not in document.text
    assert {table["api_key_env"] for table in document.workers} == {"ANTHROPIC_API_KEY"}
    assert not document.pool().unusable


def test_a_person_chooses_workers_their_strengths_and_who_plans():
    models = tuple(ServedModel(name=name) for name in ("qwen3:8b", "gemma3:27b", "mystery"))
    offer = Offer("Ollama", "http://127.0.0.1:11434/v1", models=models[1:])
    strengths = {"gemma3:27b": "", "mystery": "puzzles"}
    document, done = with_offer(opened(POOL), offer, planner=models[0], strengths=strengths)
    assert done == "Added mystery (Ollama); qwen3:8b writes the workflows."
    added = document.workers[-1]
    assert (added["model"], added["strengths"]) == ("mystery", "puzzles")
    assert document.conductor is not None
    assert document.conductor["model"] == "qwen3:8b"
    # Another one in its place, without a worker more.
    document, done = with_offer(document, offer._replace(models=()), planner=models[2])
    assert done == "mystery writes the workflows."
    assert document.conductor is not None
    assert document.conductor["model"] == "mystery"
    assert document.pool().names == ("mine", "mystery")


def test_strengths_that_a_person_empties_are_left_out():
    offer = Offer("Ollama", "http://127.0.0.1:11434/v1", models=(ServedModel(name="qwen3:8b"),))
    document, _ = with_offer(opened(None), offer, strengths={"qwen3:8b": " "})
    assert "strengths" not in document.workers[0]
