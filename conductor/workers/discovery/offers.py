"""An offer: models of one server or service that a pool does not have yet, and how they come into its file.

A hosted service is asked for its list only by `list_models`, which a person's click begins; until then the
name of the variable is all that is used of a key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import httpx
from pydantic import ValidationError

from conductor.errors import PoolError, WorkerError
from conductor.text.formatting import named
from conductor.workers.discovery.local_servers import LocalServer
from conductor.workers.discovery.models import (
    MOST,
    answers_questions,
    newest,
    strengths_of,
    strongest,
    worker_name,
)
from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.config import Endpoint, Patience
from conductor.workers.endpoint.wire import ServedModel
from conductor.workers.keys.hosts import KeyHost, confirm, is_confirmed, origin_of
from conductor.workers.keys.secret import find_secret
from conductor.workers.keys.services import HOSTED, Service
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.toml_editor import PoolDocument

BASE_URL = "OPENAI_BASE_URL"
"""Where `OPENAI_API_KEY` is meant for, as OpenAI's own clients read it; unset: OpenAI."""

_FAMILIES: Mapping[str, Sequence[str]] = {
    "OpenAI": (r"gpt-\d+(\.\d+)?o?", r"gpt-\d+(\.\d+)?o?-mini"),
    "Anthropic": tuple(rf"claude-(\d[\d-]*-)?{size}(-[\d-]+|-latest)?" for size in ("sonnet", "haiku")),
    "Google": tuple(rf"(models/)?gemini-\d+(\.\d+)?-{size}(-preview)?" for size in ("pro", "flash")),
    "OpenRouter": (
        r"anthropic/claude-sonnet-[\d.]+",
        r"openai/gpt-\d+(\.\d+)?",
        r"google/gemini-\d+(\.\d+)?-pro(-preview)?",
    ),
    "Together": (
        r"deepseek-ai/DeepSeek-V[\d.]+",
        r"Qwen/Qwen[\d.]+-\d+B.*Instruct.*",
        r"openai/gpt-oss-120b",
    ),
    "Groq": (r"openai/gpt-oss-120b", r"llama-[\d.]+-70b-versatile", r"qwen/qwen[\d.]+-\d+b"),
    "Mistral": ("mistral-large-latest", "mistral-medium-latest", "codestral-latest"),
    "DeepSeek": ("deepseek-chat", "deepseek-reasoner"),
}
"""Of each service's models, those that are taken; the first plans."""

_WITHOUT_FAMILY = 3
"""Models that are taken of a list with none of these."""

_KEYS: Mapping[str, Mapping[str, Any]] = {
    "Anthropic": {"max_tokens": 8192},
    "Ollama": {"concurrency": 1},
    "LM Studio": {"concurrency": 1},
    "llama.cpp": {"concurrency": 1},
}
"""What the entries of a pool need beyond a model."""

_PATIENCE = Patience(connect=5.0, first_token=10.0, between_tokens=10.0, total=15.0)


class Offer(NamedTuple):
    """Models at `base_url`; None where they are not known before the service is asked."""

    name: str
    base_url: str
    api_key_env: str | None = None
    models: tuple[ServedModel, ...] | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port. Raises `PoolError` where the address is none."""
        try:
            return origin_of(self.base_url)
        except httpx.InvalidURL:
            raise PoolError(f"{BASE_URL} is no URL; write one like https://api.openai.com/v1.") from None

    @property
    def known(self) -> bool:
        """Whether the key may be sent there without a further question. Raises `PoolError`."""
        return self.api_key_env is None or is_confirmed(KeyHost(self.api_key_env, self.origin))


def offers(pool: Pool, servers: Iterable[LocalServer]) -> tuple[Offer, ...]:
    """What of these servers, and of the services whose keys are set, the pool does not have.

    Raises `PoolError` where the secrets file cannot be read.
    """
    there = {(_place(card.endpoint), card.model) for card in pool.cards.values() if card.endpoint is not None}
    found = []
    for server in servers:
        models = tuple(
            model
            for model in server.models
            if answers_questions(model.name) and (_place(server.base_url), model.name) not in there
        )
        if models:
            found.append(Offer(server.name, server.base_url, models=models[:MOST]))
    used = {place for place, _ in there}
    keyed = (of_service(service) for service in HOSTED if find_secret(service.api_key_env or "") is not None)
    return (*found, *(offer for offer in keyed if _place(offer.base_url) not in used))


def of_service(service: Service) -> Offer:
    """The offer of a service whose key is set; OpenAI's is where `BASE_URL` has it."""
    elsewhere = os.environ.get(BASE_URL, "").strip() if service.api_key_env == "OPENAI_API_KEY" else ""
    return Offer(service.name, elsewhere or service.base_url, service.api_key_env)


async def list_models(offer: Offer) -> Offer:
    """The offer with the models to take, which the service is asked for where they are not known.

    A person must have agreed to the request: from then on the key may be sent there. Raises `PoolError`.
    """
    if offer.models is not None:
        return offer
    try:
        endpoint = Endpoint(
            base_url=offer.base_url,
            model=offer.name,
            api_key_env=offer.api_key_env,
            patience=_PATIENCE,
            retries=0,
        )
    except ValidationError as error:
        reason = error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise PoolError(f"{BASE_URL}: {reason}.") from None
    if offer.api_key_env is not None:
        confirm(KeyHost(offer.api_key_env, offer.origin))
    client = ChatClient(endpoint, name=offer.name)
    try:
        served = await client.served()
    except WorkerError as error:
        raise PoolError(str(error)) from error
    finally:
        await client.aclose()
    return offer._replace(models=_taken(offer.name, served))


def _taken(service: str, served: Sequence[ServedModel]) -> tuple[ServedModel, ...]:
    """The sensible ones of a long list. Raises `PoolError` where there is none."""
    by_name = {model.name: model for model in served if answers_questions(model.name)}
    names = newest(by_name, _FAMILIES.get(service, ())) or tuple(by_name)[:_WITHOUT_FAMILY]
    if not names:
        raise PoolError(f"{service} lists no model that answers questions; add one by hand on the Pool page.")
    return tuple(by_name[name] for name in names)


def with_offer(document: PoolDocument, offer: Offer) -> tuple[PoolDocument, str]:
    """The file with the offer's models as workers, and what was added, in words.

    A new file also gets a Conductor. Models that the file has already stay as they are. Raises `PoolError`.
    """
    there = {(_place(worker.get("base_url")), worker.get("model")) for worker in document.workers}
    models = [model for model in offer.models or () if (_place(offer.base_url), model.name) not in there]
    if not models:
        return document, f"The pool has the models of {offer.name} already."
    taken = {str(worker.get("name", "")) for worker in document.workers}
    is_new = not taken and document.conductor is None
    added = []
    for model in models:
        name = worker_name(model.name, taken)
        taken.add(name)
        added.append(name)
        document = document.with_worker({"name": name, **_entry(offer, model)})
    what = f"Added {named(added)} ({offer.name})"
    if is_new:
        planner = models[0] if offer.api_key_env else strongest(models)
        document = document.with_conductor(_entry(offer, planner, plans=True))
        return document, f"{what}; {planner.name} writes the workflows."
    return document, f"{what}."


def _entry(offer: Offer, model: ServedModel, *, plans: bool = False) -> dict[str, Any]:
    entry = {
        "base_url": offer.base_url,
        "model": model.name,
        "api_key_env": offer.api_key_env,
        "strengths": None if plans else strengths_of(model.name),
        "context": model.context if model.context and model.context > 0 else None,
        **_KEYS.get(offer.name, {}),
    }
    return {key: value for key, value in entry.items() if value is not None}


def _place(base_url: str | None) -> str:
    """An address to compare: this machine has several names."""
    try:
        url = httpx.URL(base_url or "")
    except httpx.InvalidURL:
        return base_url or ""
    host = "127.0.0.1" if url.host in ("localhost", "::1") else url.host
    return str(url.copy_with(host=host)).rstrip("/")
