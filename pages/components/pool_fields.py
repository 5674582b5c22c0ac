"""The fields by which a table of the pool file is edited, and how what is typed becomes a table.

Pure: knows the tables' keys and their labels; draws nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import tomlkit

from conductor.plan import Dialect
from conductor.workers.endpoint import MAX_CHARACTERS, Patience
from conductor.workers.entries import Constrain
from conductor.workers.offline import EXPERTS
from conductor.workers.pool_document import Entry
from conductor.workers.protocol import PromptStyle

TableKind = Literal["model", "offline", "simulated", "conductor"]
FieldKind = Literal["text", "long", "whole", "number", "choice", "worker", "flag", "table"]


class Field(NamedTuple):
    """A key of a table. `hint` is what holds where nothing is written, or an example; `missing` is said
    where nothing is written and something must be.
    """

    key: str
    label: str
    kind: FieldKind = "text"
    hint: str = ""
    help: str = ""
    options: tuple[str, ...] = ()
    missing: str = ""


class Service(NamedTuple):
    """A known place where models are served."""

    name: str
    base_url: str
    api_key_env: str | None = None


SERVICES = (
    Service("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Service("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    Service("Google", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    Service("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Service("Together", "https://api.together.ai/v1", "TOGETHER_API_KEY"),
    Service("vLLM, on this machine", "http://localhost:8000/v1"),
    Service("Ollama, on this machine", "http://localhost:11434/v1"),
    Service("LM Studio, on this machine", "http://localhost:1234/v1"),
    Service("llama.cpp, on this machine", "http://localhost:8080/v1"),
)

_PATIENCE = Patience()
_A_MILLION = "US dollars a million tokens; both prices or none"

_NAME = Field(
    "name",
    "Name",
    help="What steps call it. Each worker has its own.",
    missing="The name is missing. Write one by which steps can call this worker.",
)
_SERVED = (
    Field(
        "model",
        "Model",
        hint="gpt-5",
        help="As the endpoint calls it.",
        missing="The model is missing. Write its name as the endpoint calls it, like gpt-5.",
    ),
    Field(
        "base_url",
        "Base URL",
        hint="https://api.openai.com/v1",
        help="For most servers it ends in /v1.",
        missing="The URL is missing. Write where the model is served, like https://api.openai.com/v1.",
    ),
    Field(
        "api_key_env",
        "Key variable",
        hint="OPENAI_API_KEY",
        help="The name of the variable that holds the key, never the key itself.",
    ),
)
_STRENGTHS = Field(
    "strengths", "Strengths", hint="hard code, final answers", help="The one line that a Conductor reads."
)
_MORE = (
    Field("context", "Context", "whole", "unknown", "Tokens that a call may hold, prompt and answer."),
    Field("max_tokens", "Longest answer", "whole", "the model's own", "Tokens."),
    Field("temperature", "Temperature", "number", "the model's own", "From 0 to 2."),
    Field("reasoning_effort", "Reasoning effort", hint="the model's own"),
    Field("price_prompt", "Price of the prompt", "number", "unknown", _A_MILLION),
    Field("price_completion", "Price of the answer", "number", "unknown", _A_MILLION),
    Field("concurrency", "Calls at a time", "whole", "no limit"),
    Field("requests_per_minute", "Requests a minute", "number", "no limit"),
    Field("connect_seconds", "Seconds to connect", "number", f"{_PATIENCE.connect:g}"),
    Field("first_token_seconds", "Seconds to the first token", "number", f"{_PATIENCE.first_token:g}"),
    Field("between_tokens_seconds", "Seconds between tokens", "number", f"{_PATIENCE.between_tokens:g}"),
    Field("total_seconds", "Seconds in all", "number", f"{_PATIENCE.total:g}", "With all retries."),
    Field("retries", "Retries", "whole", "3"),
    Field("max_characters", "Most characters of an answer", "whole", f"{MAX_CHARACTERS:,}"),
    Field("prompt_style", "Prompt style", "choice", "ours", options=get_args(PromptStyle)),
)
_EXTRA = Field(
    "extra",
    "Extra parameters",
    "table",
    "top_k = 40",
    "Sent with every request, for what only this endpoint knows. Lines of TOML.",
)

_FIELDS: Mapping[TableKind, tuple[tuple[Field, ...], tuple[Field, ...]]] = {
    "model": (
        (_NAME, *_SERVED, _STRENGTHS),
        (
            *_MORE,
            Field("fallback", "Stand-in", "worker", "nobody", "Who answers where this one finally cannot."),
            Field(
                "tokenizer",
                "Tokenizer",
                hint="models/qwen3/tokenizer.json",
                help="The model's tokenizer.json, beside the pool file, so that its tokens are counted, "
                "not estimated.",
            ),
            _EXTRA,
        ),
    ),
    "conductor": (
        (
            _NAME._replace(hint="conductor", help="What it is called."),
            *_SERVED,
            Field("dialect", "Dialect", "choice", "any", "How it writes access lists.", get_args(Dialect)),
        ),
        (
            Field(
                "constrain",
                "Held to a valid plan",
                "choice",
                "auto",
                "By a regular expression (vLLM), by JSON Schema, or not at all.",
                get_args(Constrain),
            ),
            *_MORE,
            Field("as_worker", "A worker as well, which may plan a step of its own", "flag"),
            _STRENGTHS._replace(help="As a worker."),
            _EXTRA,
        ),
    ),
    "offline": (
        (
            _NAME,
            Field(
                "expert",
                "Expert",
                "choice",
                options=EXPERTS,
                missing="The expert is missing. Choose which of them this worker is.",
            ),
        ),
        (),
    ),
    "simulated": (
        (
            _NAME,
            _STRENGTHS._replace(hint="made-up text at a chosen pace"),
            Field("answer", "Answer", "long", "made-up words", "The same one to every request."),
        ),
        (
            Field("latency", "Seconds to the first token", "number", "0"),
            Field("tokens", "Tokens of an answer", "whole", "40"),
            Field("tokens_per_second", "Tokens a second", "number", "all at once"),
            Field("seed", "Seed", "whole", "0"),
            Field("fail_on", "Fails where the instruction contains", "text", "nothing"),
        ),
    ),
}


def fields(kind: TableKind) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """The fields that everybody needs, and the others."""
    return _FIELDS[kind]


def kind_of(entry: Entry) -> TableKind:
    """Which kind of worker a table describes."""
    said = entry.get("kind", "model")
    return said if said in ("offline", "simulated") else "model"


def typed(field: Field, entry: Entry) -> Any:
    """What the field of a table shows at first."""
    value = entry.get(field.key)
    match field.kind:
        case "table":
            return tomlkit.dumps(dict(value or {})).strip()
        case "flag":
            return bool(value)
        case "number" if value is not None:
            return float(value)
        case "text" | "long":
            return value or ""
        case _:
            return value


def missing(kind: TableKind, entry: Entry) -> dict[str, str]:
    """What to do about each field that must say something and says nothing, by key."""
    both = (*fields(kind)[0], *fields(kind)[1])
    return {field.key: field.missing for field in both if field.missing and field.key not in entry}


def entry_of(kind: TableKind, typed: Mapping[str, Any], *, old: Entry) -> tuple[Entry, dict[str, str]]:
    """The table for what was typed, by key, and what of it cannot be read, by key.

    Keys keep the order that they have in `old`; what says nothing is left out.
    """
    faults: dict[str, str] = {}
    new: dict[str, Any] = {} if kind in ("model", "conductor") else {"kind": kind}
    for field in (*fields(kind)[0], *fields(kind)[1]):
        try:
            value = _said(field, typed.get(field.key))
        except ValueError as error:
            faults[field.key] = str(error)
            continue
        if value is not None and (value is not False or field.key in old):
            new[field.key] = value
    if "kind" in old and kind == "model":
        new["kind"] = kind
    return {key: new[key] for key in sorted(new, key=lambda key: _rank(key, old))}, faults


def _rank(key: str, old: Entry) -> int:
    keys = list(old)
    return keys.index(key) if key in old else len(keys)


def _said(field: Field, value: Any) -> Any:
    """The value of the key, None where nothing is said. Raises `ValueError` in words for the field."""
    match field.kind:
        case "text":
            return (value or "").strip() or None
        case "long":
            return value or None
        case "number" if value is not None:
            return int(value) if float(value).is_integer() else float(value)
        case "table":
            return _table(value or "")
        case _:
            return value


def _table(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text) or None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"write lines like top_k = 40; {error}.") from None
