"""`people list` and `limit`: what people have used, how much they may, and how often."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, get_args

from typer import Argument, BadParameter

from storage.limits import Limits, Period, Spent, begin_of
from storage.tables.people.people_limits import EVERYONE
from studio.cli.opening import stored
from studio.cli.options import App, JsonLines, LimitOptions, Stored, flag
from studio.cli.output.limit_cells import limits_cell, spent_cells
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import one_line, print_lines, print_remark, table

_PERIODS: tuple[Period, ...] = get_args(Period)
_HEADINGS = (
    "person",
    *("tokens today", "cost today", "this month", "cost", "in total", "cost"),
    "limits",
)

app = App()


@app.callback()
def people() -> None:
    """List what people have used, and limit it.

    A person is the name with which someone works: of a login, or of CONDUCTOR_AUTHOR.
    """


@app.command("list")
def list_people(*, _json_lines: JsonLines = False, options: Stored) -> int:
    """List people, what they have used, and their limits.

    "~" stands before a sum with calls whose usage no endpoint reports: they count by estimate, and without
    dollars if their worker has no price. Days and months are those of UTC, as for limits.
    """
    with stored(options) as store:
        now, limits = time.time(), dict(store.people.limits_by_person())
        spent = {period: store.people.spent_by_person(begin=begin_of(period, now=now)) for period in _PERIODS}
    everyone = limits.pop(EVERYONE, None)
    rows = {
        name: {period: used.get(name, Spent()) for period, used in spent.items()}
        for name in sorted({*spent["total"], *limits})
    }
    if options.json:
        shapes = [_shape(name, limits.get(name, everyone), used) for name, used in rows.items()]
        return options.show({"people": shapes, "everyone": everyone and everyone.model_dump(mode="json")})
    if rows:
        lines = [
            (
                one_line(name, 60),
                *(cell for period in _PERIODS for cell in spent_cells(used[period])),
                limits_cell(limits.get(name, everyone)),
            )
            for name, used in rows.items()
        ]
        print_lines(table(_HEADINGS, lines, right=(1, 2, 3, 4, 5, 6)))
    others = "no limits" if everyone is None else limits_cell(everyone)
    print_remark(f"for everyone without limits of their own: {others}.")
    return 0


@app.command()
def limit(
    name: Annotated[
        str, Argument(metavar="NAME", help="The person; * is everyone without limits of their own.")
    ],
    *,
    limited: LimitOptions,
    none: Annotated[bool, flag("--none", "Remove the limits.")] = False,
    options: Stored,
) -> int:
    """Set a person's limits, in place of the earlier ones."""
    limits = limited.limits(Limits)
    if none == bool(limits.texts):
        raise BadParameter("give at least one limit, or --none alone")
    with stored(options) as store:
        person = store.people.set_limits(name, None if none else limits)
        in_force = store.people.limits_of(person)
    who = "everyone without limits of their own" if person == EVERYONE else one_line(person)
    text = limits_cell(in_force) if in_force is not None else "no limits"
    return options.show(
        {"name": person, "limits": in_force and in_force.model_dump(mode="json")}, f"{who}: {text}"
    )


def _shape(name: str, limits: Limits | None, used: Mapping[Period, Spent]) -> Shape:
    """A person with what their requests used in each period; what is not limited is null."""
    return {
        "name": name,
        "limits": limits and limits.model_dump(mode="json"),
        "spent": {
            period: spent.model_dump(mode="json", exclude={"requests"}) for period, spent in used.items()
        },
    }
