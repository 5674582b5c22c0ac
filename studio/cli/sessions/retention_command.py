"""`sessions retention`: what the age of sessions deletes, now and soon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from conductor.text.formatting import quantity
from studio.cli.opening import stored
from studio.cli.options import Stored, count, flag
from studio.sessions.retention import (
    AGE,
    EXEMPT,
    VARIABLE,
    Applied,
    age_days,
    apply,
    forecast,
    retention_days,
)

_days = count(f"Forecast for so many days in the place of {AGE}.", "DAYS", most=999_999)


def show_retention(
    ctx: typer.Context,
    days: Annotated[int | None, _days] = None,
    now: Annotated[
        bool, flag("--apply", "Delete what is due, and remove what was deleted long ago.")
    ] = False,
    *,
    options: Stored,
) -> int:
    """Print how many sessions their age deletes now and soon.

    Sessions that nothing has changed for so many days are deleted; `restore` puts them back until they are
    removed for good. Sessions of evaluations, those with the tag `keep`, and those that run or wait stay.
    """
    if now and days is not None:
        ctx.fail(f"--apply goes by {AGE}; leave out --days")
    age = age_days() if days is None else days
    with stored(options) as store:
        applied = apply(store) if now else None
        due = {} if age is None else forecast(store, age)
    # `due` is by the days ahead, from now; null, as the days, where no age deletes.
    shape = {
        "delete_after_days": age,
        "remove_after_days": retention_days(),
        "due": due or None,
        "deleted": None if applied is None else applied.deleted,
        "removed": None if applied is None else applied.removed,
    }
    return options.show(shape, *_lines(age, due, applied))


def _lines(age: int | None, due: Mapping[int, int], applied: Applied | None) -> Iterator[str]:
    if applied is not None:
        yield f"Deleted {quantity(applied.deleted, 'session')}, removed {applied.removed:,} for good."
    if age is None:
        yield f"No session is deleted for its age: {AGE} is not set; --days N forecasts what it would delete."
        return
    yield f"Sessions are deleted {quantity(age, 'day')} after their last change, but with the tag {EXEMPT!r}."
    for ahead, sessions in due.items():
        yield f"  {f'within {ahead} days' if ahead else 'now':15} {quantity(sessions, 'session')}"
    removed = retention_days()
    stay = "until they are cleaned up" if removed is None else f"for {quantity(removed, 'day')}"
    yield f"Deleted sessions stay {stay} ({VARIABLE})."
