"""The tables of a pool file: which keys each kind may have, and what is built of them.

Knows the keys and their types; the file, its lines and its names are pool_file's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from conductor.messages import Sampling, Value
from conductor.plan import Dialect
from conductor.workers.endpoint import (
    MAX_CHARACTERS,
    BaseUrl,
    Count,
    Endpoint,
    Extra,
    KeyVariable,
    Patience,
    Rate,
    Retries,
    Seconds,
)
from conductor.workers.offline import ExpertName, offline_expert
from conductor.workers.openai import OpenAIWorker
from conductor.workers.protocol import Price, PromptStyle, Worker
from conductor.workers.simulated import SimulatedWorker

Constrain = Literal["auto", "regex", "json", "none"]
"""How an endpoint is held to write a valid plan; auto takes the strictest way that it knows."""

_PATIENCE = Patience()
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ConductorEntry(Value):
    """The Conductor that a pool file names: where it is served, and how it is asked and read.

    `as_worker` puts it into the pool as well, so that it may give a step to itself.
    """

    endpoint: Endpoint
    name: str
    strengths: str | None
    dialect: Dialect
    prompt_style: PromptStyle
    constrain: Constrain
    sampling: Sampling
    price: Price | None
    context: int | None
    as_worker: bool


class _Table(Value):
    # Values are not repeated: somebody may have pasted a key where its variable's name belongs.
    model_config = ConfigDict(hide_input_in_errors=True)


class OfflineTable(_Table):
    """A built-in expert."""

    kind: Literal["offline"]
    name: str = Field(min_length=1)
    expert: ExpertName

    def build(self) -> Worker:
        """The worker."""
        return offline_expert(self.expert, name=self.name)


class SimulatedTable(_Table):
    """The shipped fake."""

    kind: Literal["simulated"]
    name: str = Field(min_length=1)
    strengths: str = "made-up text at a chosen pace"
    latency: float = Field(default=0.0, ge=0, description="seconds to the first token")
    tokens: int = Field(default=40, ge=0)
    tokens_per_second: float | None = Field(default=None, gt=0)
    seed: int = 0
    answer: str | None = None
    fail_on: str | None = None

    def build(self) -> Worker:
        """The worker."""
        return SimulatedWorker(**self.model_dump(exclude={"kind"}))


class _ServedTable(_Table):
    """The keys that every table of a served model has."""

    model_config = ConfigDict(strict=True)

    base_url: BaseUrl
    model: str = Field(min_length=1)
    api_key_env: KeyVariable | None = None
    strengths: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: Count | None = None
    reasoning_effort: str | None = None
    extra: Extra = Field(default_factory=dict)
    price_prompt: _Dollars | None = Field(default=None, description="US dollars a million tokens")
    price_completion: _Dollars | None = Field(default=None, description="US dollars a million tokens")
    context: Count | None = Field(default=None, description="tokens")
    concurrency: Count | None = None
    requests_per_minute: Rate | None = None
    connect_seconds: Seconds = _PATIENCE.connect
    first_token_seconds: Seconds = _PATIENCE.first_token
    between_tokens_seconds: Seconds = _PATIENCE.between_tokens
    total_seconds: Seconds = _PATIENCE.total
    retries: Retries = 3
    max_characters: Count = MAX_CHARACTERS
    prompt_style: PromptStyle = "ours"

    @property
    def endpoint(self) -> Endpoint:
        """Where and how it is asked."""
        return Endpoint(
            base_url=self.base_url,
            model=self.model,
            api_key_env=self.api_key_env,
            patience=Patience(
                connect=self.connect_seconds,
                first_token=self.first_token_seconds,
                between_tokens=self.between_tokens_seconds,
                total=self.total_seconds,
            ),
            retries=self.retries,
            concurrency=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            max_characters=self.max_characters,
            reasoning_effort=self.reasoning_effort,
            extra=self.extra,
        )

    @property
    def sampling(self) -> Sampling:
        """What a step gets that sets nothing of its own."""
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens)

    @property
    def price(self) -> Price | None:
        """Both prices, None where they are not known."""
        if self.price_prompt is None or self.price_completion is None:
            return None
        return Price(prompt=self.price_prompt, completion=self.price_completion)


class ModelTable(_ServedTable):
    """A served model."""

    kind: Literal["model"]
    name: str = Field(min_length=1)
    fallback: str | None = None
    tokenizer: str | None = Field(default=None, min_length=1, description="path of a tokenizer.json")

    def build(self) -> Worker:
        """The worker, without its fallback."""
        return OpenAIWorker(
            self.endpoint,
            name=self.name,
            strengths=self.strengths,
            sampling=self.sampling,
            price=self.price,
            context=self.context,
            prompt_style=self.prompt_style,
            fallback=self.fallback,
            tokenizer=self.tokenizer,
        )


class ConductorTable(_ServedTable):
    """The `[conductor]` table."""

    name: str = Field(default="conductor", min_length=1)
    dialect: Dialect = "any"
    constrain: Constrain = "auto"
    as_worker: bool = False

    @property
    def entry(self) -> ConductorEntry:
        """What it says."""
        return ConductorEntry(
            endpoint=self.endpoint,
            name=self.name,
            strengths=self.strengths,
            dialect=self.dialect,
            prompt_style=self.prompt_style,
            constrain=self.constrain,
            sampling=self.sampling,
            price=self.price,
            context=self.context,
            as_worker=self.as_worker,
        )


WorkerTable = OfflineTable | SimulatedTable | ModelTable

_WORKER: TypeAdapter[WorkerTable] = TypeAdapter(Annotated[WorkerTable, Field(discriminator="kind")])


def worker_table(entry: object) -> WorkerTable:
    """A `[[worker]]` table; the kind may be left out beside a base_url. Raises `ValidationError`."""
    if isinstance(entry, dict) and "kind" not in entry and "base_url" in entry:
        entry = {"kind": "model", **entry}
    return _WORKER.validate_python(entry)


def conductor_table(entry: Any) -> ConductorTable:
    """The `[conductor]` table. Raises `ValidationError`."""
    return ConductorTable.model_validate(entry)
