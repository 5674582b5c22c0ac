"""A session as a JSON file: format "conductor-session", version 1, with a published schema.

Knows the document as a whole; it is written and read entry by entry.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from conductor.events import Event
from conductor.messages import Value
from conductor.output import Output
from storage.session_entries import (
    CorrectionEntry,
    ExperimentEntry,
    PlanEntry,
    RatingEntry,
    RevisionEntry,
    RunEntry,
    SessionEntry,
)

FORMAT = "conductor-session"
BULK_FORMAT = "conductor-sessions"


class SessionFile(Value):
    """The document."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        title="Conductor session",
        json_schema_extra={"$schema": "https://json-schema.org/draft/2020-12/schema"},
    )

    format: Literal["conductor-session"]
    version: Literal[1]
    session: SessionEntry
    plans: tuple[PlanEntry, ...] = ()
    revisions: tuple[RevisionEntry, ...] = ()
    runs: tuple[RunEntry, ...] = ()
    experiments: tuple[ExperimentEntry, ...] = ()
    corrections: tuple[CorrectionEntry, ...] = ()
    ratings: tuple[RatingEntry, ...] = ()
    outputs: tuple[Output, ...] = Field(default=(), description="what steps gave, each fingerprint once")
    events: tuple[Event, ...] = Field(default=(), description="of all runs, those of each in order")


def session_schema() -> dict[str, Any]:
    """The published JSON Schema of the document."""
    return SessionFile.model_json_schema()
