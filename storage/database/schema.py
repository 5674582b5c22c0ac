"""The tables as queries see them; `migrations` makes and changes them.

Values are JSON text written and read by pydantic. Everything that has a `number` is counted from 1
within its session, so that "newest" does not depend on a clock.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    literal_column,
)
from sqlalchemy.types import TypeDecorator

from conductor.engine.experiments import EdgeTest, Swap
from conductor.runs.events import EVENT
from conductor.values.conversation import Conversation
from conductor.values.messages import Usage
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport
from storage.api_token import TokenLimits
from storage.database.encoding import from_json, plain, to_json

OUTPUT: TypeAdapter[Output] = TypeAdapter(Output)
WORKFLOW: TypeAdapter[Workflow] = TypeAdapter(Workflow)


class PlainText(TypeDecorator[str]):
    """Text that is made storable on its way in, ids included."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else plain(value)


class Json(TypeDecorator[Any]):
    """A value as JSON text; a row gives the value back."""

    impl = Text
    cache_ok = True

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        super().__init__()
        self.adapter = adapter

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else to_json(self.adapter, value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else from_json(self.adapter, value)


class Stored(Json):
    """A value as JSON text that may refer to fragments; a row gives that text, which `fragments.read` reads.

    Where a value is written, it is written without references.
    """

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return value if isinstance(value, str) else super().process_bind_param(value, dialect)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return value


METADATA = MetaData()

META = Table(
    "meta",
    METADATA,
    Column("key", PlainText, primary_key=True),
    Column("value", PlainText, nullable=False),
)

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("title", PlainText, nullable=False),
    Column("query", PlainText, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("pool_label", PlainText),
    # No foreign key: revisions already refer to sessions, and a circle cannot be inserted.
    Column("head", PlainText),
    Column("state", PlainText, nullable=False),
    Column("deleted_at", Double),
    Column("settings", Json(TypeAdapter(Settings))),
    Column("origin", PlainText),
    # No foreign key: a fork outlives the session that it was made from.
    Column("forked_from", PlainText),
    Column("conversation", Json(TypeAdapter(Conversation))),
)

TAGS = Table(
    "tags",
    METADATA,
    Column("session", PlainText, ForeignKey("sessions.id"), primary_key=True),
    Column("tag", PlainText, primary_key=True),
)

PLANS = Table(
    "plans",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("session", PlainText, ForeignKey("sessions.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("planner", PlainText, nullable=False),
    Column("planner_kind", PlainText, nullable=False),
    Column("report", Json(TypeAdapter(PlanReport))),
    Column("failure", PlainText),
    Column("usage", Json(TypeAdapter(Usage)), nullable=False),
    Column("seconds", Double),
    Column("round", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("looks_back", PlainText, ForeignKey("runs.id")),
    Column("alternative", PlainText),
)

REVISIONS = Table(
    "revisions",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("session", PlainText, ForeignKey("sessions.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("parent", PlainText, ForeignKey("revisions.id")),
    Column("origin", PlainText, nullable=False),
    Column("note", PlainText, nullable=False),
    Column("plan", PlainText, ForeignKey("plans.id")),
    Column("created_at", Double, nullable=False),
    Column("workflow", Stored(WORKFLOW), nullable=False),
    # Kept beside the workflow, so that a list of sessions reads no workflow.
    Column("topology", PlainText, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("looks_back", PlainText, ForeignKey("runs.id")),
    Column("author", PlainText),
)

# Kept by triggers, as the texts below are.
REVISION_WORKERS = Table(
    "revision_workers",
    METADATA,
    Column("revision", PlainText, ForeignKey("revisions.id"), primary_key=True),
    Column("worker", PlainText, primary_key=True),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("session", PlainText, ForeignKey("sessions.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("revision", PlainText, ForeignKey("revisions.id"), nullable=False),
    Column("parent", PlainText, ForeignKey("runs.id")),
    Column("status", PlainText, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("answer", PlainText),
    Column("owner", PlainText, nullable=False),
    Column("pool_label", PlainText),
    Column("round", Integer, nullable=False),
    Column("experiment", PlainText, ForeignKey("experiments.id")),
    Column("trial", Integer),
    # What the calls that ended took together, so that a list of sessions reads no event.
    Column("tokens", Integer),
    # When another process asked its owner to stop it.
    Column("stop_asked_at", Double),
)

RUNNING = RUNS.c.status == literal_column("'running'")
"""Of a run without an end. The status is written out, so that the partial index over such runs is used."""

EXPERIMENTS = Table(
    "experiments",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("session", PlainText, ForeignKey("sessions.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    # The run that all trials are compared with, and whose outputs they see.
    Column("base", PlainText, ForeignKey("runs.id"), nullable=False),
    Column("experiment", Json(TypeAdapter(Swap | EdgeTest)), nullable=False),
)

CORRECTIONS = Table(
    "corrections",
    METADATA,
    Column("revision", PlainText, ForeignKey("revisions.id"), primary_key=True),
    Column("session", PlainText, ForeignKey("sessions.id"), nullable=False),
    Column("plan", PlainText, ForeignKey("plans.id"), nullable=False),
    # The revision that holds the Conductor's workflow; `revision` descends from it by people's edits.
    Column("planned", PlainText, ForeignKey("revisions.id"), nullable=False),
    Column("created_at", Double, nullable=False),
)

RATINGS = Table(
    "ratings",
    METADATA,
    Column("run", PlainText, ForeignKey("runs.id"), primary_key=True),
    Column("thumbs", PlainText, nullable=False),
    Column("rated_at", Double, nullable=False),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("run", PlainText, ForeignKey("runs.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("event", Stored(EVENT), nullable=False),
)

OUTPUTS = Table(
    "outputs",
    METADATA,
    Column("session", PlainText, ForeignKey("sessions.id"), primary_key=True),
    Column("fingerprint", PlainText, primary_key=True),
    Column("output", Stored(OUTPUT), nullable=False),
)

# What a session's events, outputs and revisions refer to, by digest: texts, and JSON that may refer to more.
# Apart, because rows of some hundred bytes between those of many thousand leave pages half empty.
LONG_TEXTS, FRAGMENTS = (
    Table(
        name,
        METADATA,
        Column("session", PlainText, ForeignKey("sessions.id"), primary_key=True),
        Column("digest", PlainText, primary_key=True),
        Column("text", PlainText, nullable=False),
    )
    for name in ("long_texts", "fragments")
)

API_TOKENS = Table(
    "api_tokens",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("name", PlainText, nullable=False),
    Column("digest", PlainText, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("used_at", Double),
    Column("revoked_at", Double),
    Column("limits", Json(TypeAdapter(TokenLimits)), nullable=False),
)

# What a token's requests used, by the day (UTC).
API_SPENDING = Table(
    "api_spending",
    METADATA,
    Column("token", PlainText, ForeignKey("api_tokens.id"), primary_key=True),
    Column("day", PlainText, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
    Column("unknown_tokens", BigInteger, nullable=False),
    Column("unknown_costs", BigInteger, nullable=False),
)

# By the sessions that requests to the API began.
API_REQUESTS = Table(
    "api_requests",
    METADATA,
    Column("session", PlainText, ForeignKey("sessions.id"), primary_key=True),
    # No foreign key: a token's row is never removed. Empty where no token was needed.
    Column("token", PlainText),
    # The response's body, which is JSON in ASCII, as it was sent.
    Column("response", PlainText),
)

# Each text that a session is found by, once; the words in it are a full-text index of the database's own.
TEXTS = Table(
    "texts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("session", PlainText, ForeignKey("sessions.id"), nullable=False),
    Column("kind", PlainText, nullable=False),
    Column("text", PlainText, nullable=False),
)
