"""The tables of a pool file: which keys each kind may have, how a form labels them, what is built from them,
and what is wrong with one.

Knows the keys and their types, not the file nor its lines. A fault never repeats a value: it may be a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from conductor.values.messages import Sampling, Value
from conductor.workers.endpoint.config import (
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
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.endpoint.worker import OpenAIWorker
from conductor.workers.local_model import LocalModel
from conductor.workers.offline.experts import EXPERTS, ExpertName, OfflineExpert
from conductor.workers.protocol import Price, PromptStyle, Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.plan_report import Dialect

Constrain = Literal["auto", "regex", "json", "none"]
"""How an endpoint is held to write a valid plan; auto takes the strictest way that it knows."""


class Label(NamedTuple):
    """How a form names a key: its `title`, one sentence of `help`, and an example or what `unset` means.

    Where the key has a default, the default is what `unset` means.
    """

    title: str
    help: str = ""
    unset: str = ""


_PATIENCE = Patience()
_MILLION = "US dollars a million tokens; both prices or none"
_Name = Annotated[str, Field(min_length=1), Label("Name", "What steps call it. Each worker has its own.")]
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(Value):
    # Values are not repeated: a person may have pasted a key in the place of its variable's name.
    model_config = ConfigDict(hide_input_in_errors=True)


class OfflineTable(_Table):
    """A built-in expert."""

    kind: Literal["offline"]
    name: _Name
    expert: Annotated[ExpertName, Label("Expert")]

    def build(self) -> Worker:
        return OfflineExpert(self.expert, name=self.name)


class SimulatedTable(_Table):
    """A simulated worker."""

    kind: Literal["simulated"]
    name: _Name
    strengths: Annotated[str, Label("Strengths", "The one line that a Conductor reads.")] = (
        "made-up text at a chosen pace"
    )
    answer: Annotated[str | None, Label("Answer", "The same one to every request.", "made-up words")] = None
    latency: Annotated[float, Field(ge=0), Label("Seconds to the first token")] = 0.0
    tokens: Annotated[int, Field(ge=0), Label("Tokens of an answer")] = 40
    tokens_per_second: Annotated[float | None, Field(gt=0), Label("Tokens a second", unset="all at once")] = (
        None
    )
    seed: Annotated[int, Label("Seed")] = 0
    fail_on: Annotated[str | None, Label("Fails where the instruction contains", unset="nothing")] = None

    def build(self) -> Worker:
        return SimulatedWorker(**self.model_dump(exclude={"kind"}))


class _ServedTable(_Table):
    """The keys that every table of a served model has."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, Field(min_length=1), Label("Model", "As the endpoint calls it.", "gpt-5")]
    base_url: Annotated[
        BaseUrl, Label("Base URL", "For most servers it ends in /v1.", "https://api.openai.com/v1")
    ]
    api_key_env: Annotated[
        KeyVariable | None,
        Label(
            "Key variable",
            "The name of the variable that holds the key, never the key itself.",
            "OPENAI_API_KEY",
        ),
    ] = None
    strengths: Annotated[
        str | None, Label("Strengths", "The one line that a Conductor reads.", "hard code, final answers")
    ] = None
    context: Annotated[
        Count | None, Label("Context", "Tokens that a call may hold, prompt and answer.", "unknown")
    ] = None
    max_tokens: Annotated[Count | None, Label("Longest answer", "Tokens.", "the model's own")] = None
    temperature: Annotated[
        float | None, Field(ge=0, le=2), Label("Temperature", "From 0 to 2.", "the model's own")
    ] = None
    reasoning_effort: Annotated[str | None, Label("Reasoning effort", unset="the model's own")] = None
    price_prompt: Annotated[_Dollars | None, Label("Price of the prompt", _MILLION, "unknown")] = None
    price_completion: Annotated[_Dollars | None, Label("Price of the answer", _MILLION, "unknown")] = None
    concurrency: Annotated[Count | None, Label("Calls at a time", unset="no limit")] = None
    requests_per_minute: Annotated[Rate | None, Label("Requests a minute", unset="no limit")] = None
    connect_seconds: Annotated[Seconds, Label("Seconds to connect")] = _PATIENCE.connect
    first_token_seconds: Annotated[Seconds, Label("Seconds to the first token")] = _PATIENCE.first_token
    between_tokens_seconds: Annotated[Seconds, Label("Seconds between tokens")] = _PATIENCE.between_tokens
    total_seconds: Annotated[Seconds, Label("Seconds in all", "With all retries.")] = _PATIENCE.total
    retries: Annotated[Retries, Label("Retries")] = 3
    max_characters: Annotated[Count, Label("Most characters of an answer")] = MAX_CHARACTERS
    prompt_style: Annotated[PromptStyle, Label("Prompt style")] = "ours"
    extra: Annotated[
        Extra,
        Label(
            "Extra parameters",
            "Sent with every request, for what only this endpoint knows. Lines of TOML.",
            "top_k = 40",
        ),
    ] = Field(default_factory=dict)

    @property
    def endpoint(self) -> Endpoint:
        patience = Patience(
            connect=self.connect_seconds,
            first_token=self.first_token_seconds,
            between_tokens=self.between_tokens_seconds,
            total=self.total_seconds,
        )
        return Endpoint(patience=patience, **self.model_dump(include=set(Endpoint.model_fields)))

    @property
    def sampling(self) -> Sampling:
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens)

    @property
    def price(self) -> Price | None:
        if self.price_prompt is None or self.price_completion is None:
            return None
        return Price(prompt=self.price_prompt, completion=self.price_completion)

    def _worker(self, name: str, *, strengths: str | None, **more: Any) -> OpenAIWorker:
        return OpenAIWorker(
            self.endpoint,
            name=name,
            strengths=strengths,
            sampling=self.sampling,
            price=self.price,
            context=self.context,
            prompt_style=self.prompt_style,
            **more,
        )


class ModelTable(_ServedTable):
    """A served model."""

    kind: Literal["model"]
    name: _Name
    fallback: Annotated[str | None, Label("Fallback", "Who answers when this one has failed.", "None")] = None
    tokenizer: Annotated[
        str | None,
        Field(min_length=1),
        Label(
            "Tokenizer",
            "The model's tokenizer.json, next to the pool file: its tokens are counted, not estimated.",
            "models/qwen3/tokenizer.json",
        ),
    ] = None

    vision: Annotated[bool, Label("Sees images", "Images of a question are sent to it.")] = False

    def build(self) -> Worker:
        """The worker, without its fallback."""
        return self._worker(
            self.name,
            strengths=self.strengths,
            fallback=self.fallback,
            tokenizer=self.tokenizer,
            vision=self.vision,
        )


class ConductorTable(_ServedTable):
    """The `[conductor]` table: the endpoint of a Conductor, its prompt and how its answer is read.

    `as_worker` puts it into the pool as well, so that it may give a step to itself.
    """

    name: Annotated[str, Field(min_length=1), Label("Name", "What it is called.")] = "conductor"
    dialect: Annotated[Dialect, Label("Dialect", "How it writes access lists.")] = "any"
    constrain: Annotated[
        Constrain,
        Label("Constrained decoding", "By a regular expression (vLLM), by JSON Schema, or not at all."),
    ] = "auto"
    as_worker: Annotated[bool, Label("Also a worker, which may plan a step of its own")] = False
    strengths: Annotated[str | None, Label("Strengths", "As a worker.", "hard code, final answers")] = None

    def build(self) -> OpenAIWorker:
        """The Conductor as one who answers."""
        return self._worker(self.name, strengths=self.strengths or "plans what other workers do")


class LocalConductorTable(_Table):
    """The `[conductor]` table of a small Conductor in this program: its folder, or a shipped one's name."""

    as_worker: ClassVar[bool] = False

    kind: Literal["local"]
    model: Annotated[
        str,
        Field(min_length=1),
        Label(
            "Model",
            "The shipped one, orchard, or a folder that `conductor learn` wrote, next to the pool file.",
            "orchard",
        ),
    ]
    name: Annotated[str, Field(min_length=1), Label("Name", "What it is called.")] = "conductor"
    temperature: Annotated[
        float, Field(ge=0, le=2), Label("Temperature", "From 0, always the same plan, to 2.")
    ] = 0.0

    def build(self) -> LocalModel:
        """The model as it continues any text. Raises `PoolError` where it cannot be read."""
        return LocalModel(Path(self.model), name=self.name)


ConductorEntry = ConductorTable | LocalConductorTable


def conductor_table(entry: object) -> ConductorEntry:
    """A `[conductor]` table; only one of a local model has a kind. Raises `ValidationError`."""
    local = isinstance(entry, dict) and entry.get("kind") is not None
    return (LocalConductorTable if local else ConductorTable).model_validate(entry)


class EmbeddingsTable(_Table):
    """The `[embeddings]` table: the endpoint of a model that turns texts into vectors."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, Field(min_length=1)]
    base_url: BaseUrl
    api_key_env: KeyVariable | None = None
    retries: Retries = 3
    extra: Extra = Field(default_factory=dict)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(**self.model_dump())

    def build(self) -> EmbeddingClient:
        return EmbeddingClient(self.endpoint, name="embeddings")


WorkerTable = OfflineTable | SimulatedTable | ModelTable

_WORKER: TypeAdapter[WorkerTable] = TypeAdapter(Annotated[WorkerTable, Field(discriminator="kind")])


def worker_table(entry: object) -> WorkerTable:
    """A `[[worker]]` table; with a base_url the kind may be left out. Raises `ValidationError`."""
    if isinstance(entry, dict) and "kind" not in entry and "base_url" in entry:
        entry = {"kind": "model", **entry}
    return _WORKER.validate_python(entry)


# -- what is wrong with a table, in words for the person who wrote it ---------------------------------

_NO_TABLE = ("dict_type", "model_type", "model_attributes_type")
_SECRET = re.compile(r"key|token$|secret", re.IGNORECASE)


class Fault(NamedTuple):
    """A key, and what is wrong with its value."""

    key: str
    message: str


def table_faults(kind: str, entry: Mapping[str, Any]) -> tuple[Fault, ...]:
    """The faults of a table of a kind of workers, or of "conductor" or "local"; none where it is valid."""
    try:
        if kind in ("conductor", "local"):
            conductor_table(entry)
        else:
            worker_table({"kind": kind, **entry})
    except ValidationError as error:
        return faults(error, entry, tagged=kind not in ("conductor", "local"))
    return ()


def faults(error: ValidationError, entry: object, *, tagged: bool) -> tuple[Fault, ...]:
    """The first fault of each key. In a `tagged` error the table's kind comes before the key."""
    found: dict[str, Fault] = {}
    kinds: dict[str, list[str]] = {"missing": [], "extra_forbidden": []}
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        path = detail["loc"][1:] if tagged else detail["loc"]
        key = str(path[0]) if path else "kind"
        found.setdefault(key, Fault(key, _message(detail["type"], detail["msg"], key, entry)))
        if len(path) == 1:
            kinds.setdefault(detail["type"], []).append(key)
    for key in kinds["extra_forbidden"]:
        for meant in get_close_matches(key, kinds["missing"], n=1):
            # One mistake, reported where it was made.
            found[key] = Fault(key, f"unknown key; write {meant}.")
            found.pop(meant, None)
    return tuple(found.values())


def _message(kind: str, message: str, key: str, entry: object) -> str:
    if kind.startswith("union_tag"):
        return 'needs kind = "offline" or kind = "simulated", or a base_url where a model is served.'
    if kind == "extra_forbidden":
        return f"unknown key.{_instead(key, entry)}"
    if kind in _NO_TABLE:
        return "write a table, with its keys and values in { }."
    if kind == "literal_error" and key == "kind":
        return 'only kind = "local" is known here; a served Conductor has a base_url and no kind.'
    experts = f" Experts: {', '.join(EXPERTS)}." if key == "expert" else ""
    return f"{message.removeprefix('Value error, ')}.{experts}"


def _instead(key: str, entry: object) -> str:
    if _SECRET.search(key):
        return " Keys do not belong into this file; name the variable that holds it in api_key_env."
    if isinstance(entry, dict) and "base_url" in entry:
        return f" A parameter of the endpoint's own goes into extra = {{ {key} = ... }}."
    return ""
