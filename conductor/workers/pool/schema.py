"""The tables of the built-in kinds: which keys each may have, how a form labels them, what they build.

Knows the keys and their types, not the file nor its lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from conductor.values.messages import Sampling
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.embedded.embedded_worker import (
    SAMPLING,
    STRENGTHS,
    EmbeddedEmbeddings,
    EmbeddedEndpoint,
    EmbeddedWorker,
)
from conductor.workers.embedded.model_file import SHIPPED_MODEL
from conductor.workers.endpoint.config import (
    MAX_CHARACTERS,
    BaseUrl,
    Count,
    Endpoint,
    Extra,
    KeyVariable,
    LeftOut,
    Patience,
    Rate,
    Retries,
    Seconds,
)
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.local_model import LocalModel
from conductor.workers.pool.table import Label, PoolTable, WorkerName, WorkerTable
from conductor.workers.protocol import Price, PromptStyle, Worker
from conductor.workers.python_worker import PythonWorker
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.tools.tool_server import BuiltInTools, Header, ToolServer, ToolServerName, Variable
from conductor.workers.tools.tool_worker import ROUNDS
from conductor.workers.wording.checkout import read_wording
from conductor.workflow.plan_report import Dialect

Constrain = Literal["auto", "regex", "grammar", "json", "none"]
"""How an endpoint is held to write a valid plan; auto takes the strictest way that it knows."""


_CODE = "this {} runs code that models write, in a sandbox; allow_code = true allows it"
_CONSTRAINED = "Regular expression (vLLM), grammar (llama.cpp), JSON Schema, or off."


_PATIENCE = Patience()
_MILLION = "US dollars per million tokens; set both prices or neither"
_FIRST_TOKEN = Label(
    "Seconds to the first token", "For a local model 300 by default, more for a long prompt."
)
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


ToolPattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}(:.{1,128})?$")]

_TOOLS = Label("Tools", "SERVER, or SERVER:NAME with * for any letters, of the [[tools]] tables.", "none")


class ToolsTable(PoolTable):
    """A `[[tools]]` table: a server of tools, by the Model Context Protocol.

    `ask` is when a person is asked before a tool acts that the server does not mark as only reading: before
    each call, or before the `first` of each tool in a session. Without `trust` nothing that the server states
    of its tools counts: each of them acts. `pinned`: a tool that describes itself otherwise than at first is
    called no more.
    """

    name: ToolServerName
    built_in: BuiltInTools | None = None
    allow_code: bool = False
    command: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), strict=False)
    cwd: Annotated[str, Field(min_length=1)] | None = None
    env: tuple[Variable, ...] = Field(default=(), strict=False)
    url: BaseUrl | None = None
    headers: Mapping[Header, KeyVariable] = Field(default_factory=dict)
    seconds: Seconds = 60.0
    ask: Literal["always", "first", "never"] = "always"
    trust: bool = True
    pinned: bool = True

    @model_validator(mode="after")
    def _is_one_server(self) -> Self:
        places = {"built_in": self.built_in, "command": self.command, "url": self.url}
        if sum(bool(place) for place in places.values()) != 1:
            raise ValueError("set one of built_in, command and url")
        if self.built_in == "python" and not self.allow_code:
            raise ValueError(_CODE.format("server"))
        if self.headers and self.url is None:
            raise ValueError("headers need a url")
        if (self.cwd or self.env) and not self.command:
            raise ValueError("cwd and env need a command")
        return self

    def server(self, folder: Path) -> ToolServer:
        """The server, whose `cwd` is found from `folder`."""
        return ToolServer(
            name=self.name,
            built_in=self.built_in,
            command=self.command,
            cwd=str((folder / (self.cwd or "")).absolute()) if self.command else None,
            env=self.env,
            url=self.url,
            headers=tuple(self.headers.items()),
            seconds=self.seconds,
            trust=self.trust,
            pinned=self.pinned,
            pool=self._pool,
        )


def _allowed(allow_code: bool) -> bool:
    if not allow_code:
        raise ValueError(_CODE.format("worker"))
    return allow_code


class CalculatorTable(WorkerTable):
    kind: Literal["calculator"]

    def build(self) -> Worker:
        return Calculator(self.name)


class PythonTable(WorkerTable):
    """A worker that runs programs of models, in the sandbox."""

    kind: Literal["python"]
    allow_code: Annotated[
        bool,
        Field(validate_default=True),
        AfterValidator(_allowed),
        Label("Runs programs that models write, in a sandbox"),
    ] = False

    def build(self) -> Worker:
        return PythonWorker(self.name)


class SimulatedTable(WorkerTable):
    kind: Literal["simulated"]
    strengths: Annotated[str, Label("Strengths", "One line for the Conductor.")] = (
        "made-up text at a chosen pace"
    )
    answer: Annotated[str | None, Label("Answer", "Returned to every request.", "made-up words")] = None
    latency: Annotated[float, Field(ge=0), Label("Seconds to the first token")] = 0.0
    tokens: Annotated[int, Field(ge=0), Label("Tokens per answer")] = 40
    tokens_per_second: Annotated[
        float | None, Field(gt=0), Label("Tokens per second", unset="all at once")
    ] = None
    seed: Annotated[int, Label("Seed")] = 0
    fail_on: Annotated[str | None, Label("Fails if the instruction contains", unset="nothing")] = None

    def build(self) -> Worker:
        return SimulatedWorker(**self.model_dump(exclude={"kind", "colour"}))


class WithTools(WorkerTable):
    """The keys of a worker that may call tools. `tool_rounds` is how often it may before it must answer."""

    tools: Annotated[tuple[ToolPattern, ...], Field(strict=False), _TOOLS] = ()
    tool_rounds: Annotated[int, Field(ge=1, le=100), Label("Rounds of tools")] = ROUNDS


class _EmbeddedTable(PoolTable):
    """The keys that every table of an embedded model has."""

    kind: Literal["embedded"]
    model: Annotated[
        str,
        Field(min_length=1),
        Label("Model", "The built-in one, or a GGUF file next to the pool file."),
    ] = SHIPPED_MODEL


class EmbeddedTable(_EmbeddedTable, WithTools):
    """A small language model in a process of this program."""

    name: WorkerName
    strengths: Annotated[str, Label("Strengths", "One line for the Conductor.")] = STRENGTHS
    max_tokens: Annotated[int, Field(ge=1), Label("Longest answer", "Tokens.")] = SAMPLING.max_tokens or 0
    temperature: Annotated[float, Field(ge=0, le=2), Label("Temperature", "From 0 to 2.")] = (
        SAMPLING.temperature or 0
    )

    def build(self) -> Worker:
        return EmbeddedWorker(
            self.model,
            name=self.name,
            strengths=self.strengths,
            sampling=Sampling(temperature=self.temperature, max_tokens=self.max_tokens),
        )


class _ServedTable(PoolTable):
    """The keys that every table of a served model has."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, Field(min_length=1), Label("Model", "Its name at the endpoint.", "gpt-5")]
    base_url: Annotated[BaseUrl, Label("Base URL", "Usually ends in /v1.", "https://api.openai.com/v1")]
    api_key_env: Annotated[
        KeyVariable | None,
        Label(
            "Key variable",
            "The environment variable with the key, never the key itself.",
            "OPENAI_API_KEY",
        ),
    ] = None
    strengths: Annotated[
        str | None, Label("Strengths", "One line for the Conductor.", "hard code, final answers")
    ] = None
    context: Annotated[Count | None, Label("Context", "Tokens of prompt and answer together.", "unknown")] = (
        None
    )
    max_tokens: Annotated[Count | None, Label("Longest answer", "Tokens.", "the model's own")] = None
    temperature: Annotated[
        float | None, Field(ge=0, le=2), Label("Temperature", "From 0 to 2.", "the model's own")
    ] = None
    reasoning_effort: Annotated[str | None, Label("Reasoning effort", unset="the model's own")] = None
    price_prompt: Annotated[_Dollars | None, Label("Prompt price", _MILLION, "unknown")] = None
    price_completion: Annotated[_Dollars | None, Label("Answer price", _MILLION, "unknown")] = None
    price_cached: Annotated[
        _Dollars | None,
        Label(
            "Cached prompt price",
            "US dollars per million cached tokens.",
            "as the prompt",
        ),
    ] = None
    concurrency: Annotated[Count | None, Label("Parallel calls", unset="no limit")] = None
    requests_per_minute: Annotated[Rate | None, Label("Requests per minute", unset="no limit")] = None
    connect_seconds: Annotated[Seconds, Label("Seconds to connect")] = _PATIENCE.connect
    first_token_seconds: Annotated[Seconds, _FIRST_TOKEN] = _PATIENCE.first_token
    between_tokens_seconds: Annotated[Seconds, Label("Seconds between tokens")] = _PATIENCE.between_tokens
    total_seconds: Annotated[Seconds, Label("Total seconds", "Including retries.")] = _PATIENCE.total
    retries: Annotated[Retries, Label("Retries")] = 3
    max_characters: Annotated[Count, Label("Longest answer, characters")] = MAX_CHARACTERS
    prompt_style: Annotated[PromptStyle, Label("Prompt style")] = "ours"
    prompt_from: Annotated[
        str | None,
        Field(min_length=1),
        Label(
            "Prompt from",
            "A copy of the research code next to the pool file; its prompts replace the built-in ones.",
            "../orchestrator",
        ),
    ] = None
    extra: Annotated[
        Extra,
        Label(
            "Extra parameters",
            "More request fields for this endpoint, as lines of TOML.",
            "top_k = 40",
        ),
    ] = Field(default_factory=dict)
    leave_out: Annotated[
        tuple[LeftOut, ...],
        Field(strict=False),
        Label("Omitted parameters", "Parameters that the endpoint refuses.", "nothing"),
    ] = ()

    @property
    def endpoint(self) -> Endpoint:
        times = ((name, f"{name}_seconds") for name in Patience.model_fields)
        patience = Patience(
            **{name: getattr(self, key) for name, key in times if key in self.model_fields_set}
        )
        shared = self.model_dump(include=set(Endpoint.model_fields))
        return Endpoint(patience=patience, pool=self._pool, **shared)

    @property
    def sampling(self) -> Sampling:
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens)

    @property
    def price(self) -> Price | None:
        if self.price_prompt is None or self.price_completion is None:
            return None
        return Price(prompt=self.price_prompt, completion=self.price_completion, cached=self.price_cached)

    def _worker(self, name: str, *, strengths: str | None, **more: Any) -> OpenAIWorker:
        return OpenAIWorker(
            self.endpoint,
            name=name,
            strengths=strengths,
            sampling=self.sampling,
            price=self.price,
            context=self.context,
            prompt_style=self.prompt_style,
            wording=None if self.prompt_from is None else read_wording(Path(self.prompt_from)),
            **more,
        )


class ModelTable(_ServedTable, WithTools):
    kind: Literal["model"]
    fallback: Annotated[
        str | None, Label("Fallback", "The worker that answers if this one fails.", "None")
    ] = None
    tokenizer: Annotated[
        str | None,
        Field(min_length=1),
        Label(
            "Tokenizer",
            "The model's tokenizer.json next to the pool file, to count tokens exactly.",
            "models/qwen3/tokenizer.json",
        ),
    ] = None

    vision: Annotated[bool, Label("Sees images", "It gets the images of a question.")] = False

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

    name: Annotated[str, Field(min_length=1), Label("Name", "Its name.")] = "conductor"
    dialect: Annotated[Dialect, Label("Access lists", "How it writes them; any reads every form.")] = "any"
    constrain: Annotated[
        Constrain,
        Label("Constrained decoding", _CONSTRAINED),
    ] = "auto"
    as_worker: Annotated[bool, Label("Also a worker, which may plan a step of its own")] = False
    strengths: Annotated[str | None, Label("Strengths", "As a worker.", "hard code, final answers")] = None

    def build(self) -> OpenAIWorker:
        """The Conductor as one who answers."""
        return self._worker(self.name, strengths=self.strengths or "plans what other workers do")


class LocalConductorTable(PoolTable):
    """The `[conductor]` table of a small Conductor in this program: its folder, or a shipped one's name."""

    as_worker: ClassVar[bool] = False

    kind: Literal["local"]
    model: Annotated[
        str,
        Field(min_length=1),
        Label(
            "Model",
            "orchard for the shipped one, or a folder that `conductor learn` wrote, next to the pool file.",
            "orchard",
        ),
    ]
    name: Annotated[str, Field(min_length=1), Label("Name", "Its name.")] = "conductor"
    temperature: Annotated[
        float, Field(ge=0, le=2), Label("Temperature", "From 0 (always the same plan) to 2.")
    ] = 0.0

    def build(self) -> LocalModel:
        """The model as it continues any text. Raises `PoolError` where it cannot be read."""
        return LocalModel(Path(self.model), name=self.name)


class EmbeddedConductorTable(_EmbeddedTable):
    """The `[conductor]` table of an embedded model: its prompt and how its plan is held to a form."""

    as_worker: ClassVar[bool] = False
    dialect: ClassVar[Dialect] = "any"

    name: Annotated[str, Field(min_length=1), Label("Name", "Its name.")] = "conductor"
    max_tokens: Annotated[int, Field(ge=1), Label("Longest plan", "Tokens.")] = 1024
    temperature: Annotated[
        float | None, Field(ge=0, le=2), Label("Temperature", "From 0 to 2.", "low for a plan")
    ] = None
    constrain: Annotated[Constrain, Label("Constrained decoding", _CONSTRAINED)] = "auto"

    def build(self) -> OpenAIWorker:
        sampling = Sampling(temperature=self.temperature, max_tokens=self.max_tokens)
        # A plan repeats its keys, so repetition has no penalty here.
        return EmbeddedWorker(self.model, name=self.name, sampling=sampling, extra={})


class EmbeddedEmbeddingsTable(_EmbeddedTable):
    """The `[embeddings]` table of an embedded model."""

    @property
    def endpoint(self) -> Endpoint:
        return EmbeddedEndpoint.of(self.model, embeds=True)

    def build(self) -> EmbeddingClient:
        return EmbeddedEmbeddings(self.endpoint, name="embeddings")


class EmbeddingsTable(PoolTable):
    """The `[embeddings]` table: the endpoint of a model that turns texts into vectors."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, Field(min_length=1)]
    base_url: BaseUrl
    api_key_env: KeyVariable | None = None
    retries: Retries = 3
    extra: Extra = Field(default_factory=dict)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(pool=self._pool, **self.model_dump())

    def build(self) -> EmbeddingClient:
        return EmbeddingClient(self.endpoint, name="embeddings")
