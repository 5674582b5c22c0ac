"""An offer: models of one server or service that a pool does not have yet, and how they come into its file.

A hosted service is asked for its list only by `list_models`, which a person's click begins; until then the
name of the variable is all that is used of a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
from pydantic import ValidationError

from conductor.errors import PoolError, WorkerError
from conductor.own_settings import setting
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
from conductor.workers.endpoint.catalogue import ServedModel
from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.config import Endpoint, Patience
from conductor.workers.keys.hosts import BASE_URL, is_known, origin_of
from conductor.workers.keys.secret import find_secret
from conductor.workers.keys.services import HOSTED, Service
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.toml_editor import PoolDocument

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
    """Models at `base_url`; None until the service is asked for them."""

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
            raise PoolError(f"{BASE_URL} is not a URL; write one like https://api.openai.com/v1.") from None

    @property
    def has_known_host(self) -> bool:
        """Whether the key may be sent there without a further question. Raises `PoolError`."""
        return self.api_key_env is None or is_known(self.api_key_env, self.origin)


def offers(pool: Pool, servers: Iterable[LocalServer]) -> tuple[Offer, ...]:
    """What of these servers, and of the services whose keys are set, the pool does not have.

    Raises `PoolError` where the secrets file cannot be read.
    """
    there = {(_place(card.endpoint), card.model) for card in pool.cards.values() if card.endpoint is not None}
    local_offers = []
    for server in servers:
        models = tuple(
            model
            for model in server.models
            if answers_questions(model.name) and (_place(server.base_url), model.name) not in there
        )
        if models:
            local_offers.append(Offer(server.name, server.base_url, models=models[:MOST]))
    used = {place for place, _ in there}
    keyed = (of_service(service) for service in HOSTED if find_secret(service.api_key_env or "") is not None)
    return (*local_offers, *(offer for offer in keyed if _place(offer.base_url) not in used))


def of_service(service: Service) -> Offer:
    """The offer of a service whose key is set; OpenAI's is where `BASE_URL` has it."""
    elsewhere = setting(BASE_URL) if service.api_key_env == "OPENAI_API_KEY" else None
    return Offer(service.name, elsewhere or service.base_url, service.api_key_env)


async def list_models(offer: Offer) -> Offer:
    """The offer with the models to take, which the service is asked for where they are not known.

    A person must have agreed to the request. Raises `PoolError`.
    """
    if offer.models is not None:
        return offer
    served = await served_models(offer, of=BASE_URL)
    names = usual_choice(offer.name, served)
    if not names:
        raise PoolError(
            f"{offer.name} lists no model that answers questions; add one by hand on the Pool page."
        )
    return offer._replace(models=tuple(model for name in names for model in served if model.name == name))


async def served_models(offer: Offer, *, of: str, pool: str = "") -> tuple[ServedModel, ...]:
    """All models of the list that may answer questions. `of` names the setting that has the address, `pool`
    is the whole path of the pool file.

    A person must have agreed to the request. Raises `PoolError`.
    """
    try:
        endpoint = Endpoint(
            base_url=offer.base_url,
            model=offer.name,
            api_key_env=offer.api_key_env,
            patience=_PATIENCE,
            retries=0,
            pool=pool,
        )
    except ValidationError as error:
        reason = error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise PoolError(f"{of}: {reason}.") from None
    client = ChatClient(endpoint, name=offer.name)
    try:
        served = await client.served()
    except WorkerError as error:
        raise PoolError(str(error)) from error
    finally:
        await client.aclose()
    return tuple(model for model in served if answers_questions(model.name))


def usual_choice(service: str, served: Sequence[ServedModel]) -> tuple[str, ...]:
    """The names of the sensible ones of a long list, the one that plans first."""
    names = [model.name for model in served]
    return newest(names, _FAMILIES.get(service, ())) or tuple(names[:_WITHOUT_FAMILY])


def with_offer(
    document: PoolDocument,
    offer: Offer,
    *,
    planner: ServedModel | None = None,
    strengths: Mapping[str, str] = MappingProxyType({}),
) -> tuple[PoolDocument, str]:
    """The file with the offer's models as workers, and what was added, in words.

    `planner` writes the workflows from now on; without one only a new file gets a Conductor. `strengths` has
    lines in place of those that models' names show. Models that the file has already stay as they are. Raises
    `PoolError`.
    """
    there = {(_place(worker.get("base_url")), worker.get("model")) for worker in document.workers}
    models = [model for model in offer.models or () if (_place(offer.base_url), model.name) not in there]
    if not models and planner is None:
        return document, f"The pool has the models of {offer.name} already."
    names = {str(worker.get("name", "")) for worker in document.workers}
    if planner is None and not names and document.conductor is None:
        planner = models[0] if offer.api_key_env else strongest(models)
    added = []
    for model in models:
        name = worker_name(model.name, names)
        names.add(name)
        added.append(name)
        entry = {"name": name, **_entry(offer, model)}
        if model.name in strengths:
            entry["strengths"] = strengths[model.name].strip() or None
        document = document.with_worker({key: value for key, value in entry.items() if value is not None})
    done = [f"Added {named(added)} ({offer.name})"] if added else []
    if planner is not None:
        entry = _entry(offer, planner, plans=True)
        has_one = document.conductor is not None
        document = document.changed("conductor", entry) if has_one else document.with_conductor(entry)
        done.append(f"{planner.name} writes the workflows")
    return document, f"{'; '.join(done)}."


def with_model_file(document: PoolDocument, name: str, file: Path) -> tuple[PoolDocument, str]:
    """The file with an embedded worker of that GGUF file, and what was added, in words.

    A new file also gets it as its Conductor. Raises `PoolError`.
    """
    folder = document.path.parent.resolve()
    whole = file.resolve()
    model = str(whole.relative_to(folder) if whole.is_relative_to(folder) else whole)
    if any(worker.get("model") == model for worker in document.workers):
        return document, f"The pool has {model} already."
    names = {str(worker.get("name", "")) for worker in document.workers}
    is_new = not names and document.conductor is None
    entry = {"kind": "embedded", "model": model}
    own = worker_name(name, names)
    strengths = f"a small language model on this machine, {name}"
    document = document.with_worker({"name": own, **entry, "strengths": strengths})
    if not is_new:
        return document, f"Added {own}."
    return document.with_conductor(entry), f"Added {own}, which also writes the workflows."


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
