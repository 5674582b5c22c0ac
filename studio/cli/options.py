"""The options that several commands share, and how the text of an option is read. Knows no command's work.

Readers raise `typer.BadParameter`; typer adds the name of the option to the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer import Argument, BadParameter, Option

from conductor.errors import ConductorError
from conductor.values.presets import MAX_ROUNDS, Mode

LARGEST = 2**63 - 1
"""The largest whole number that a store accepts."""

DEBUG = "conductor.debug"
"""The key in `typer.Context.meta` under which `--debug` is found."""


# -- readers ---------------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """The worker names in a text that separates them by commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise BadParameter("give worker names separated by commas, none of them empty")
    for name in found:
        if found.count(name) > 1:
            raise BadParameter(f"{name!r} stands in it twice; name each worker once")
    return found


def whole(text: str) -> int | None:
    """The whole number from 0 on that a text writes, at most `LARGEST`; None where it writes none."""
    short = text.isdecimal() and len(text) <= len(str(LARGEST))
    return min(int(text), LARGEST) if short else None


def positive(text: str | int) -> int:
    """A whole number from 1 on; typer passes defaults through here, too."""
    number = whole(str(text))
    if number is None or number < 1:
        raise BadParameter(f"{str(text)[:40]!r} is not a whole number from 1 on")
    return number


def natural(text: str | int) -> int:
    """A whole number from 0 on."""
    return 0 if str(text) == "0" else positive(text)


def above_zero(text: str) -> float:
    """A finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise BadParameter(f"{text!r} is not a number above 0")
    return number


def port_number(text: str | int) -> int:
    """A port; 0 means any free one."""
    number = whole(str(text))
    if number is None or number > 65535:
        raise BadParameter(f"{str(text)[:40]!r} is not a port from 0 to 65535")
    return number


def one_of(words: Sequence[str]) -> Callable[[str], str]:
    """A reader of one of these words; for options that may be repeated, whose type names no words."""

    def read(text: str) -> str:
        if text not in words:
            raise BadParameter(f"{text!r} is not one of {', '.join(words)}")
        return text

    return read


def host_name(text: str) -> str:
    """An address to listen at; an empty one would be every address of this machine."""
    if not text.strip():
        raise BadParameter("name an address, like 127.0.0.1; it is empty")
    return text


def _url(text: str) -> str:
    """A store's URL; an empty one, as of an unset variable, would be the default store."""
    if not text.strip():
        raise BadParameter("name a store, like sqlite:///data/conductor.db; it is empty")
    return text


def _rounds(text: str) -> int:
    number = positive(text)
    if number > MAX_ROUNDS:
        raise BadParameter(f"{number} are too many; a query has {MAX_ROUNDS} at most")
    return number


def _remember_debug(context: typer.Context, value: bool) -> bool:
    context.meta[DEBUG] = value
    return value


# -- options ---------------------------------------------------------------------------------------


def option(
    help: str,
    metavar: str | None = None,
    parser: Callable[..., object] | None = None,
    *,
    names: Sequence[str] = (),
    panel: str | None = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """An option with a value, in one line; `parser` reads its text.

    `parser=Path` and `parser=str` take every text that the system passes, also one that is not UTF-8.
    """
    return Option(
        *names, help=help, metavar=metavar, parser=parser, rich_help_panel=panel, autocompletion=complete
    )


def flag(name: str, help: str, *, panel: str | None = None) -> Any:
    """An option without a value."""
    return Option(name, help=help, rich_help_panel=panel)


OutputFile = Annotated[Path | None, option("Write here.", "FILE", Path, names=("--output", "-o"))]
Query = Annotated[str | None, Argument(parser=str, metavar="QUERY", help="The question.")]


def can_be_proposed(word: str) -> bool:
    """Whether a shell may complete a word that others may have written: zsh evaluates what it is given."""
    return re.fullmatch(r"[A-Za-z0-9_.,:/@+-]+", word) is not None


def _worker_names(context: typer.Context, incomplete: str) -> list[str]:
    """The pool's workers, for a shell to propose as the last name of a list."""
    # Commands that need no pool do not load all that it may be made of.
    from conductor.workers.pool.pool import configured_pool  # noqa: PLC0415

    before, comma, _ = incomplete.rpartition(",")
    try:
        pool = configured_pool(context.params.get("pool"))
    except ConductorError:
        # A shell has no place for a message; the command itself names what is wrong.
        return []
    left = [name for name in pool.names if name not in before.split(",") and can_be_proposed(name)]
    return [f"{before}{comma}{name}" for name in left]


# -- groups of options -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared:
    """The options of every command."""

    json: Annotated[bool, flag("--json", "Print one JSON object.")] = False
    debug: Annotated[bool, Option("--debug", callback=_remember_debug, help="Show tracebacks.")] = False

    def show(self, shape: object, *lines: str) -> int:
        """Print the shape with `--json`, else the lines, at once; returns the exit code of what is done."""
        print(json.dumps(shape) if self.json else "\n".join(lines), flush=True)
        return 0


@dataclass(frozen=True)
class Pooled(Shared):
    """The options of a command that reads a pool."""

    pool: Annotated[Path | None, option("Pool file (TOML).", "FILE", Path)] = None


@dataclass(frozen=True)
class Stored(Shared):
    """The options of a command that opens a store."""

    database: Annotated[str | None, option("The store that holds the sessions.", "URL", _url)] = None


@dataclass(frozen=True)
class Configured(Stored, Pooled):
    """The options of a command that opens a workbench: a store and a pool."""


_sought = partial(option, panel="How the answer is sought")
_named = partial(_sought, metavar="A,B", parser=names, complete=_worker_names)


@dataclass(frozen=True)
class Choice:
    """How an answer is sought: a mode, and what differs from it. None is not chosen."""

    mode: Annotated[Mode | None, _sought("Default: standard.")] = None
    max_steps: Annotated[int | None, _sought("Steps of a plan.", "N", positive)] = None
    rounds: Annotated[int | None, _sought(f"Rounds, {MAX_ROUNDS} at most.", "N", _rounds)] = None
    attempts: Annotated[int | None, _sought("How often a plan is asked for.", "N", positive)] = None
    workers: Annotated[Sequence[str] | None, _named("Use these workers, in this order.")] = None
    exclude: Annotated[Sequence[str] | None, _named("Do not use these workers.")] = None
    budget_tokens: Annotated[int | None, _sought("The most tokens.", "N", positive)] = None
    budget_cost: Annotated[float | None, _sought("The most US dollars.", "USD", above_zero)] = None
    budget_seconds: Annotated[float | None, _sought("The most seconds.", "S", above_zero)] = None
    budget_calls: Annotated[int | None, _sought("The most calls.", "N", positive)] = None


def takes_options(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the fields of each dataclass among its parameters as its options.

    Typer reads options from a signature alone; this is how several commands share a group of them.
    """
    parameters = signature(function, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: each.annotation for name, each in parameters.items() if is_dataclass(each.annotation)
    }

    @wraps(function)
    def command(**given: Any) -> int:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return function(**given)

    expanded: list[Parameter] = []
    for name, each in parameters.items():
        expanded += _options(groups[name]) if name in groups else [each.replace(kind=Parameter.KEYWORD_ONLY)]
    command.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in expanded}
    return command


def _options(group: Any) -> list[Parameter]:
    """The fields of a dataclass as the parameters of a function."""
    types = get_type_hints(group, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name])
        for field in fields(group)
    ]
