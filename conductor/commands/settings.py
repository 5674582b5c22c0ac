"""The arguments that say how an answer is sought: a mode, and what differs from it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from conductor.errors import PoolError
from conductor.modes import MAX_ROUNDS, MODES, Mode, Settings

_OF_MODE = ("max_steps", "rounds", "economical")

LARGEST = 2**63 - 1
"""The largest whole number that a store can be asked about."""

if TYPE_CHECKING:
    # Commands that need no pool do not wait for all that a pool may be made of.
    from conductor.workers.pool import Pool


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add them to a command."""
    group = parser.add_argument_group("how the answer is sought")
    group.add_argument("--mode", choices=get_args(Mode), help="default: standard")
    group.add_argument("--max-steps", type=positive, metavar="N", help="steps of a plan")
    group.add_argument("--rounds", type=_rounds, metavar="N", help=f"rounds, {MAX_ROUNDS} at most")
    group.add_argument("--attempts", type=positive, metavar="N", help="how often a plan is asked for")
    group.add_argument("--workers", type=names, metavar="A,B", help="use these workers, in this order")
    group.add_argument("--exclude", type=names, default=[], metavar="A,B", help="do without these workers")
    group.add_argument("--budget-tokens", type=positive, metavar="N")
    group.add_argument("--budget-cost", type=above_zero, metavar="USD")
    group.add_argument("--budget-seconds", type=above_zero, metavar="S")
    group.add_argument("--budget-calls", type=positive, metavar="N")


def settings_of(options: argparse.Namespace, *, pool: Pool, before: Settings | None = None) -> Settings:
    """The chosen settings; what was not said stays as it was `before`.

    Raises `PoolError` for a worker that the pool does not have.
    """
    said = (before or Settings()).model_dump()
    if options.mode is not None:
        said |= MODES[options.mode].model_dump(include=set(_OF_MODE))
    said |= _given(options, "max_steps", "rounds", "attempts")
    said["budget"] |= {
        name.removeprefix("budget_"): value
        for name, value in _given(
            options, "budget_tokens", "budget_cost", "budget_seconds", "budget_calls"
        ).items()
    }
    if options.workers is not None or options.exclude:
        said["workers"] = _chosen(options, pool, before=said["workers"] or pool.names)
    return Settings.model_validate(said)


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _chosen(options: argparse.Namespace, pool: Pool, *, before: Sequence[str]) -> tuple[str, ...]:
    for name in (*(options.workers or ()), *options.exclude):
        _ = pool[name]
    left = tuple(name for name in options.workers or before if name not in options.exclude)
    if not left:
        raise PoolError("No worker is left to plan with; exclude fewer of them.")
    return left


def names(text: str) -> list[str]:
    """An argument of names separated by commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError("give worker names separated by commas, none of them empty")
    for name in found:
        if found.count(name) > 1:
            raise argparse.ArgumentTypeError(f"{name!r} stands in it twice; name each worker once")
    return found


def positive(text: str) -> int:
    """An argument that is a whole number from 1 on."""
    number = whole(text)
    if number is None or number < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 1 on")
    return number


def whole(text: str) -> int | None:
    """The whole number from 0 on that a text writes, None where it writes none or far too large a one."""
    short = text.isdecimal() and len(text) <= len(str(LARGEST))
    return min(int(text), LARGEST) if short else None


def _rounds(text: str) -> int:
    number = positive(text)
    if number > MAX_ROUNDS:
        raise argparse.ArgumentTypeError(f"{number} are too many; a query has {MAX_ROUNDS} at most")
    return number


def port_number(text: str) -> int:
    """An argument that is a port; 0 stands for any free one."""
    number = whole(text)
    if number is None or number > 65535:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a port from 0 to 65535")
    return number


def host_name(text: str) -> str:
    """An argument that is an address to listen at; an empty one would be all of this machine's."""
    if not text.strip():
        raise argparse.ArgumentTypeError("name an address, like 127.0.0.1; it is empty")
    return text


def above_zero(text: str) -> float:
    """An argument that is a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
