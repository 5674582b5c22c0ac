"""Reads the options in a baseline's name, as in `baseline:moa:layers=2,aggregator=gpt`. Knows no method."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from conductor.errors import PlanError
from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Sampling, Value

# -- what baselines ask of workers, in words -------------------------------------------------------

Texts = Mapping[str, str]

OURS: Mapping[str, Texts] = tomllib.loads(
    Path(__file__).with_name("wording.toml").read_text(encoding="utf-8")
)
"""By the method's name, then by what the text is for."""

_MOST = 100_000


def texts_of(method: str, prompt: str | None) -> Texts:
    """The texts of a method, those of the file `prompt` in the place of ours.

    The file is TOML with a table of the method, or the text itself where the method has one only. Raises
    `PlanError` where it cannot be read or has no text of the method.
    """
    ours = OURS[method]
    if prompt is None:
        return ours
    texts = _read(prompt)
    if not prompt.endswith(".toml"):
        if len(ours) > 1:
            raise PlanError(f"{prompt} is one text, and {method} has {', '.join(ours)}; write them as TOML.")
        return dict.fromkeys(ours, texts)
    try:
        own = tomllib.loads(texts).get(method)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{prompt} is no TOML: {error}.") from error
    if not isinstance(own, dict) or not own or not all(isinstance(text, str) for text in own.values()):
        raise PlanError(f"{prompt} has no texts for {method}; its table [{method}] has {', '.join(ours)}.")
    if unknown := own.keys() - ours.keys():
        raise PlanError(f"{prompt}, [{method}]: there is no {min(unknown)}; there are {', '.join(ours)}.")
    return {**ours, **own}


def digest_of(prompt: str) -> str:
    """A hash of the file. Raises `PlanError` where it cannot be read."""
    return sha256(_read(prompt).encode()).hexdigest()


def _read(prompt: str) -> str:
    try:
        text = Path(prompt).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise PlanError(f"{prompt} cannot be read: {reason}.") from error
    if not 0 < len(text) <= _MOST:
        raise PlanError(f"{prompt} has {len(text):,} characters; a prompt has 1 to {_MOST:,}.")
    return text


Mode = Literal["io", "cot", "chain", "full", "debate", "reflection"]
"""How the agents of MasRouter work together."""

MODES: tuple[Mode, ...] = get_args(Mode)

FILE = ".json"
"""How the name of a file ends; every other name of fitted parameters is one of the pool file."""


class Options(Value):
    """What a baseline may be given behind its name; each takes some of them.

    `workers` are its proposers (unset: all that are offered), `worker` the one of a baseline with one
    worker, `layers` counts the aggregator's. `temperature` and `max_tokens` are those of every proposer's
    call, unset: as its worker has them. `fitted` names learnt parameters: a file, or one of the pool's.
    `k` is how many of the nearest questions count, unset: all. `mode` and `agents` hold MasRouter to them,
    `cost_rate` is what it gives up of a right answer for as much as the dearest worker's call costs. `prompt`
    is a file with a reference's own words, see `texts_of`.
    """

    worker: str | None = None
    workers: tuple[str, ...] | None = Field(default=None, min_length=1)
    aggregator: str | None = None
    layers: int = Field(default=3, ge=2)
    turns: int = Field(default=5, ge=1)
    n: int = Field(default=5, ge=1)
    k: int | None = Field(default=None, ge=1)
    mode: Mode | None = None
    agents: int | None = Field(default=None, ge=1, le=6)
    cost_rate: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    embeddings: bool = False
    seed: int = Field(default=0, ge=0)
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    fitted: str | None = Field(default=None, min_length=1)
    prompt: str | None = Field(default=None, min_length=1)

    @property
    def sampling(self) -> Sampling:
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens)

    @property
    def names_file(self) -> bool:
        """Whether a file's path is given, which only a person at this machine may name."""
        return self.prompt is not None or self._fitted_file

    @property
    def _fitted_file(self) -> bool:
        return self.fitted is not None and self.fitted.endswith(FILE)

    def texts(self, method: str) -> Texts:
        """What the method asks of workers. Raises `PlanError` where the file `prompt` has no such texts."""
        return texts_of(method, self.prompt)

    def fitted_in(self, named: Mapping[str, Path]) -> Path:
        """The file of `fitted`. Raises `PlanError` where the pool file, which names these, names it not."""
        assert self.fitted is not None
        if self._fitted_file:
            return Path(self.fitted)
        if self.fitted not in named:
            name = self.fitted[:200]
            raise PlanError(
                f'The pool file names no fitted parameters {name!r}: write {name} = "FILE{FILE}" under '
                f"[fitted] there, or name a file that ends in {FILE}."
            )
        return named[self.fitted]


def options_of(name: str, rest: str, *, takes: Sequence[str], temperature: float | None = None) -> Options:
    """The options in `rest`; the planner `name` takes only these. An option that is not in `rest` has its
    default, and `temperature` this one. Raises `PlanError`.
    """
    options: dict[str, object] = {} if temperature is None else {"temperature": temperature}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            key, value = "worker", item
        if key not in takes:
            listed = ", ".join(option if option == "worker" else f"{option}=..." for option in takes)
            raise PlanError(f"The planner {name[:200]!r} takes no {key!r}; it takes {listed}.")
        options[key] = tuple(value.split("+")) if key == "workers" else value
    if "worker" in takes and "worker" not in options:
        raise PlanError(f"The planner {name[:200]!r} needs a worker's name behind it, as in {name}:NAME.")
    if "k" in options and "fitted" not in options:
        raise PlanError(
            f"The planner {name[:200]!r} takes k only with fitted=..., whose questions it counts."
        )
    if "embeddings" in options and "fitted" in options:
        raise PlanError(
            f"The planner {name[:200]!r} takes no embeddings with fitted=...: it compares as it was fitted."
        )
    try:
        return Options.model_validate(options)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise PlanError(f"The planner {name[:200]!r}: {first['loc'][0]} is wrong: {first['msg']}.") from error


def chosen_proposers(request: PlanRequest, options: Options) -> Sequence[str]:
    """The chosen proposers, else all that are offered; a Conductor that is a worker proposes nothing."""
    if options.workers is not None:
        return [offered_name(request, name) for name in options.workers]
    return [card.name for card in request.workers if not card.nested]


def offered_name(request: PlanRequest, name: str | None) -> str:
    """The name of a worker that is offered. Raises `PlanError` for another."""
    names = [card.name for card in request.workers]
    if name not in names:
        raise PlanError(f"No worker named {name!r} is offered; there are {', '.join(names)}.")
    return name
