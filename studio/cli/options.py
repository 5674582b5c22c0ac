"""The options that several commands share, and how the text of an option is read. Knows no command's work.

Readers raise `typer.BadParameter`; typer adds the name of the option to the message.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from math import inf, nan
from pathlib import Path
from stat import S_ISFIFO, S_ISREG, S_ISSOCK
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer import Argument, BadParameter, Option

from conductor.errors import ConductorError, FormatError
from conductor.files.named_file import STDIN, read_bounded
from conductor.text.calendar_time import unix_seconds
from conductor.values.budget import Budget
from conductor.values.presets import MAX_ROUNDS, Mode
from storage.limits import Limits, Period
from studio.cli.output.terminal import be_quiet, print_by_line, print_json, print_lines

L = TypeVar("L", bound=Limits)

_MOST_READ = 5_000_000
_PATIENCE = 5.0

LARGEST = 10**12
"""More than anything that is counted; every store accepts it."""

DEBUG = "conductor.debug"
"""The key in `typer.Context.meta` under which `--debug` is found."""

_BY_LINE = "conductor.by_line"


# -- readers ---------------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """The worker names in a text that separates them by commas."""
    workers = [name.strip() for name in text.split(",")]
    if not all(workers):
        raise BadParameter("give worker names separated by commas, none of them empty")
    for name in workers:
        if workers.count(name) > 1:
            raise BadParameter(f"{name!r} stands in it twice; name each worker once")
    return workers


def number(what: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """A reader of numbers for which this `holds`; `what` names them in the error."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not holds(value):
            raise BadParameter(f"{text!r} is not {what}")
        return value

    return read


above_zero = number("a number above 0", lambda value: 0 < value < inf)


def not_empty(advice: str) -> Callable[[str], str]:
    """A reader of a text that is not blank, as one from an unset variable is."""

    def read(text: str) -> str:
        if not text.strip():
            raise BadParameter(f"{advice}; it is empty")
        return text

    return read


def first_moment(text: str) -> float:
    """In Unix seconds, by this machine's clock where the text names no zone."""
    try:
        return unix_seconds(datetime.fromisoformat(text))
    except ValueError as error:
        raise BadParameter(f"{text!r} is no day; write it as 2026-11-01") from error


def text_or_stdin(text: str) -> str:
    """The text; of `STDIN` what stdin has, without its last line's end."""
    if text != STDIN:
        return text
    try:
        return read_bounded(STDIN, most=_MOST_READ, kind="a text").decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadParameter("stdin is not text in UTF-8") from error
    except FormatError as error:
        raise BadParameter(str(error)) from error


def file_or_stdout(name: str) -> Path | None:
    """The file of that name; None, as without a name, is stdout."""
    return None if name == STDIN else Path(name)


def piped_text() -> str | None:
    """What `is_piped` has, None without it."""
    return (text_or_stdin(STDIN) or None) if is_piped() else None


def is_piped() -> bool:
    """Whether something is piped or redirected to the program: stdin is no terminal and no device, and no
    pipe that stays empty for `_PATIENCE` seconds, as one that a parent left open.
    """
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
        if S_ISREG(kind):
            return True
        return (S_ISFIFO(kind) or S_ISSOCK(kind)) and bool(select.select([sys.stdin], [], [], _PATIENCE)[0])
    except (AttributeError, OSError, ValueError):
        return False


def _remember_debug(context: typer.Context, value: bool) -> bool:
    context.meta[DEBUG] = value
    return value


def _read_json(context: typer.Context, value: bool) -> bool:
    return value or context.meta.get(_BY_LINE, False)


def _read_json_lines(context: typer.Context, value: bool) -> bool:
    context.meta[_BY_LINE] = value
    print_by_line(value)
    return value


def _read_quiet(value: bool) -> bool:
    be_quiet(value)
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


def count(
    help: str,
    metavar: str = "N",
    *,
    least: int = 1,
    most: int = LARGEST,
    names: Sequence[str] = (),
    panel: str | None = None,
) -> Any:
    """An option with a whole number."""
    return Option(*names, help=help, metavar=metavar, min=least, max=most, rich_help_panel=panel)


def flag(name: str, help: str, *, panel: str | None = None) -> Any:
    """An option without a value; `name` may have a short form after a space."""
    return Option(*name.split(), help=help, rich_help_panel=panel)


Force = Annotated[bool, flag("--force -F", "Overwrite a file that exists.")]
JsonLines = Annotated[
    bool,
    # Before --json is read.
    Option("--jsonl", callback=_read_json_lines, is_eager=True, help="Print each entry as JSON in a line."),
]
DryRun = Annotated[
    bool, flag("--dry-run --forecast", "Print what would be called, and call and store nothing.")
]
OutputFile = Annotated[
    Path | None, option("Write here; - is stdout.", "FILE", file_or_stdout, names=("--output", "-o"))
]
Files = Annotated[
    list[Path] | None,
    option("Attach this text or PDF to the query; once for each file.", "FILE", Path, names=("--file", "-f")),
]
Query = Annotated[
    str | None, Argument(parser=text_or_stdin, metavar="QUERY", help="The question; - is stdin.")
]
EvaluationId = Annotated[
    str, Argument(metavar="ID", help="As `evaluate list` names it; its beginning is enough, or last.")
]


def can_be_proposed(word: str) -> bool:
    """Whether a shell may complete a word that others may have written: zsh evaluates what it is given."""
    return re.fullmatch(r"[A-Za-z0-9_.,:/@+-]+", word) is not None


def worker_names(context: typer.Context, incomplete: str) -> list[str]:
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

    json: Annotated[bool, Option("--json", "-j", callback=_read_json, help="Print one JSON object.")] = False
    quiet: Annotated[
        bool, Option("--quiet", "-q", callback=_read_quiet, help="Print nothing on stderr but what failed.")
    ] = False
    debug: Annotated[bool, Option("--debug", callback=_remember_debug, help="Show tracebacks.")] = False

    @property
    def again(self) -> str:
        """The options that state where to look, as they were typed, each after a space."""
        return ""

    def show(self, shape: object, *lines: str) -> int:
        """Print the shape with `--json`, else the lines, at once; returns the exit code of what is done."""
        if self.json:
            print_json(shape)
        else:
            print_lines(*lines)
        return 0


@dataclass(frozen=True)
class Pooled(Shared):
    """The options of a command that reads a pool."""

    pool: Annotated[Path | None, option("Pool file (TOML), or built-in, or orchard.", "FILE", Path)] = None

    @property
    def again(self) -> str:
        return super().again + ("" if self.pool is None else f" --pool {shlex.quote(str(self.pool))}")


_url = not_empty("name a store, like sqlite:///data/conductor.db")


@dataclass(frozen=True)
class Stored(Shared):
    """The options of a command that opens a store."""

    database: Annotated[str | None, option("The store that holds the sessions.", "URL", _url)] = None

    @property
    def again(self) -> str:
        url = self.database or ""
        # Another one may hold a password.
        place = shlex.quote(url) if url.startswith("sqlite:") else "URL"
        return super().again + (f" --database {place}" if url else "")


@dataclass(frozen=True)
class Configured(Stored, Pooled):
    """The options of a command that opens a workbench: a store and a pool."""


@dataclass(frozen=True)
class Storable(Configured):
    """The options of a command that makes sessions, which may be stored."""

    no_store: Annotated[bool, flag("--no-store", "Store nothing: what is made is gone at the end.")] = False


_PANEL = "How the answer is sought"
_sought = partial(option, panel=_PANEL)
_most = partial(count, panel=_PANEL)
_PLANNER = "Who plans, instead of the pool's Conductor: worker:NAME, baseline:moa and others."
_named = partial(_sought, metavar="A,B", parser=names, complete=worker_names)


@dataclass(frozen=True)
class BudgetOptions:
    """The limits of what may be spent. None is no limit."""

    budget_tokens: Annotated[int | None, _most("The most tokens.")] = None
    budget_cost: Annotated[float | None, _sought("The most US dollars.", "USD", above_zero)] = None
    budget_seconds: Annotated[float | None, _sought("The most seconds.", "S", above_zero)] = None
    budget_calls: Annotated[int | None, _most("The most calls.")] = None

    @property
    def budget(self) -> Budget:
        return Budget(**{name: getattr(self, f"budget_{name}") for name in Budget.model_fields})


@dataclass(frozen=True)
class LimitOptions:
    """The limits of a token or a person. None is no limit."""

    tokens: Annotated[int | None, count("So many tokens may be used.")] = None
    cost: Annotated[float | None, option("So much may be spent.", "USD", above_zero)] = None
    each: Annotated[Period, option("What --tokens and --cost are for; days and months of UTC.")] = "total"
    per_minute: Annotated[int | None, count("Requests per minute at most.")] = None
    tokens_per_minute: Annotated[int | None, count("Tokens per minute at most.")] = None

    def limits(self, kind: type[L], **more: Any) -> L:
        """As limits of that kind, with what `more` of them there is."""
        return kind(
            tokens=self.tokens,
            cost=self.cost,
            period=self.each,
            requests_per_minute=self.per_minute,
            tokens_per_minute=self.tokens_per_minute,
            **more,
        )


@dataclass(frozen=True)
class Limited(BudgetOptions):
    """How an answer is sought, but for who plans: a mode, and what differs from it. None is not chosen."""

    mode: Annotated[Mode | None, _sought("Default: standard.", names=("--mode", "-m"))] = None
    max_steps: Annotated[int | None, _most("Steps of a plan.")] = None
    rounds: Annotated[int | None, _most("Rounds.", most=MAX_ROUNDS)] = None
    attempts: Annotated[int | None, _most("How often a plan is asked for.")] = None
    workers: Annotated[Sequence[str] | None, _named("Use these workers, in this order.")] = None
    exclude: Annotated[Sequence[str] | None, _named("Do not use these workers.")] = None
    strict_form: Annotated[
        bool, flag("--strict-form", "Read plans as the research code does, without repairs.", panel=_PANEL)
    ] = False


@dataclass(frozen=True)
class Choice(Limited):
    """How an answer is sought, and who plans."""

    planner: Annotated[str | None, _sought(_PLANNER, "NAME", str, names=("--planner", "-p"))] = None


def _whole_path(text: str) -> str:
    return str(Path(text).expanduser().absolute())


PromptFrom = Annotated[
    str | None,
    option("A copy of the research code, whose own texts are sent, not ours.", "PATH", _whole_path),
]


class App(typer.Typer):
    """The commands of a module. A dataclass among a command's parameters gives it its fields as options."""

    def __init__(self) -> None:
        super().__init__(add_completion=False)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Callable[..., int]], Any]:
        """A decorator that adds a command."""
        register = super().command(name, **settings)
        return lambda function: register(_with_flat_options(function))


def _with_flat_options(function: Callable[..., int]) -> Callable[..., int]:
    """Typer reads options from a signature alone; this is how several commands share a group of them."""
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for name, each in signature(function, eval_str=True).parameters.items():
        if is_dataclass(each.annotation):
            groups[name] = each.annotation
            types = get_type_hints(each.annotation, include_extras=True)
            parameters += [
                Parameter(
                    field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
                )
                for field in fields(each.annotation)
            ]
        else:
            parameters.append(each.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(function)
    def command(**values: Any) -> int:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return function(**values)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command
