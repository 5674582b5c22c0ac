"""How models label the three lists in running text.

Knows labels and what is loose about them; does not read the lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from conductor.plan import Repair
from conductor.planner.repairs import repair

ListName = Literal["model_id", "subtasks", "access_list"]

LIST_NAMES: tuple[ListName, ...] = ("model_id", "subtasks", "access_list")

MARK = re.compile(
    r"""
    \{ (?=\s*+(?:["'“‘]|\w++\s*+:))
    | (?P<line>^[ \t]*+ (?P<bullet>(?:[-*+•‣◦–]|[0-9]{1,3}[.)])[ \t]++)?+ )?+
      (?<!\w) (?P<open>[*_`"'“‘]{0,3}+)
      (?P<name>(?P<model_id>model[ _-]?ids?) | (?P<subtasks>sub[ _-]?tasks?)
               | (?P<access_list>access(?:[ _-]?lists?)?))
      (?P<shut>[*_`"'”’]{0,3}+) [ \t]*+ (?P<sign>[=:]) (?P<mid>[*_`]{0,3}+)
      (?: \s*+ (?:`{3,}+\w*+\s*+|`{1,2})?+ (?P<list>\[) )?
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A brace that may open an object, or a label; `list` is the bracket of the list after it, if any."""


def name_of(mark: re.Match[str]) -> ListName:
    return next(name for name in LIST_NAMES if mark[name])


def label_repairs(mark: re.Match[str]) -> Iterator[Repair]:
    """What is loose about a label."""
    name, around = name_of(mark), mark["open"] + mark["shut"] + mark["mid"]
    label = mark.span("name")
    if mark["bullet"]:
        yield repair("bullet", f"the bullet before {name} was ignored", mark.span("bullet"))
    if "*" in around or "_" in around:
        yield repair("bold-label", f"the Markdown around {name} was ignored", mark.span("open"))
    if "`" in mark[0].replace("```", ""):
        yield repair("backtick", f"the backticks around {name} were ignored", mark.span())
    if mark["name"] != name:
        yield repair("label-variant", f"{mark['name']!r} was read as {name}", label)
    if mark["sign"] == ":":
        yield repair("colon-label", f"the colon after {name} was read as =", mark.span("sign"))
