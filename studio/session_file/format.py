"""The lines of a session file: format "conductor-session", version 2, JSON Lines.

    {"format":"conductor-session","version":2,"sessions":1}
    {"session":{"id":"…","title":"…",…}}
    {"revision":{…}}
    {"text":{"id":"…","text":"A text of 256 characters or more."}}
    {"output":{…,"text":{"$text":"…"},…}}
    {"event":{…}}
    {"end":{"lines":7}}

Each session begins with its `session`; its other entries follow in the order of `ENTRIES`. A long text stands
in a line of its own once in a session, before the first entry that refers to it. Knows the form of a line;
reads and writes none. `docs/conductor-session-2.schema.json` describes it for others.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from conductor.values.messages import Value

FORMAT = "conductor-session"
VERSION = 2

LONG = 256
"""Texts of so many characters get a separate line."""

REFERENCE = "$text"
"""The only name in the object that replaces a long text; no entry has a name like it."""

MAX_SESSIONS = 100_000
"""Sessions in one file."""

MAX_ENTRIES = 50_000
"""Entries of one kind in one session; events are not limited."""


class Header(Value):
    """The first line; `sessions` counts those that follow."""

    format: Literal["conductor-session"]
    version: Literal[2]
    sessions: Annotated[int, Field(ge=0, le=MAX_SESSIONS, strict=True)]


class Text(Value):
    """A long text of a session."""

    id: str
    text: str


class End(Value):
    """The last line; `lines` counts all of them, this one included."""

    lines: Annotated[int, Field(strict=True)]
