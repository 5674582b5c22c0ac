"""The tables: a new store is made of them, queries are written with them. `migrations` changes older stores.

Values are JSON text written and read by pydantic. Everything that has a `number` is counted from 1
within its session, so that "newest" does not depend on a clock.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Dialect,
    Double,
    ForeignKey,
    Identity,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from conductor.engine.experiments import Experiment
from conductor.evaluation.items import Item
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.runs.events import EVENT
from conductor.text.json_text import portable
from conductor.values.conversation import Conversation
from conductor.values.messages import Usage
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport
from storage.api_token import TokenLimits
from storage.database.encoding import from_json, to_json
from storage.limits import Limits

OUTPUT: TypeAdapter[Output] = TypeAdapter(Output)
WORKFLOW: TypeAdapter[Workflow] = TypeAdapter(Workflow)


class PlainText(TypeDecorator[str]):
    """Text that is made storable on its way in, ids included."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else portable(value)


class Json(TypeDecorator[Any]):
    """A value as JSON text; a row gives the value back. `exact`: a value with more fields is not read, as a
    limit that is passed over would be none.
    """

    impl = Text
    cache_ok = True

    def __init__(self, adapter: TypeAdapter[Any], *, exact: bool = False) -> None:
        super().__init__()
        self.adapter, self.exact = adapter, exact

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else to_json(self.adapter, value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        return self.read(value)

    def read(self, text: str | None) -> Any:
        """The value that a row's text holds. Raises `StorageError` as `from_json`."""
        return None if text is None else from_json(self.adapter, text, exact=self.exact)


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

_WHOLE = ("number", "round", "attempt", "step", "steps", "start", "trial", "seq", "item", "repeat")
_TYPES: dict[str, TypeEngine[Any]] = {
    **dict.fromkeys(_WHOLE, Integer()),
    **dict.fromkeys(("seconds", "cost"), Double()),
}
"""Of a column by its name; a time, which ends in `_at`, is in Unix seconds, and all others are texts."""

_REFERS = {
    "session": "sessions.id",
    "run": "runs.id",
    "base": "runs.id",
    "looks_back": "runs.id",
    "experiment": "experiments.id",
    "revision": "revisions.id",
    "planned": "revisions.id",
    "chosen": "revisions.id",
    "plan": "plans.id",
    "evaluation": "evaluations.id",
    "token": "api_tokens.id",
}
"""Columns that refer to a row of another table; a `parent` is a row of its own table."""


def _table(
    name: str,
    *,
    key: str,
    required: str = "",
    optional: str = "",
    goes_with: str = "",
    loose: str = "",
    unique: str = "",
    **types: TypeEngine[Any],
) -> Table:
    """A table with these columns: its key, those that every row has, and those that may be empty.

    A row goes with the row that its column `goes_with` refers to. A `loose` column refers to nothing that has
    to be there. No two rows have the same values in the `unique` columns.
    """

    def column(column: str, **own: Any) -> Column[Any]:
        kind = (
            types.get(column) or _TYPES.get(column) or (Double() if column.endswith("_at") else PlainText())
        )
        target = None if column in loose.split() or column in types else _REFERS.get(column)
        target = f"{name}.id" if column == "parent" else target
        gone = "CASCADE" if column == goes_with else None
        refers = [] if target is None else [ForeignKey(target, ondelete=gone)]
        default = text("1") if column in ("round", "attempt") else None
        return Column(column, kind, *refers, server_default=default, **own)

    return Table(
        name,
        METADATA,
        *(column(each, primary_key=True, autoincrement=False) for each in key.split()),
        *(column(each, nullable=False) for each in required.split()),
        *(column(each) for each in optional.split()),
        *([UniqueConstraint(*unique.split())] if unique else []),
    )


META = _table("meta", key="key", required="value")

# `head` and `forked_from` are no foreign keys: revisions refer to sessions already, and a circle cannot be
# inserted; a fork outlives the session that it was made from. `expires_at` is when a session is removed for
# good that is not to be stored; it is deleted from the start.
SESSIONS = _table(
    "sessions",
    key="id",
    required="title query created_at updated_at state",
    optional="pool_label head deleted_at settings origin forked_from conversation expires_at",
    settings=Json(TypeAdapter(Settings)),
    conversation=Json(TypeAdapter(Conversation)),
)

OF_PEOPLE: ColumnElement[bool] = literal_column("COALESCE(sessions.origin, '') <> 'evaluation'")
OF_EVALUATIONS: ColumnElement[bool] = literal_column("sessions.origin = 'evaluation'")
"""Of a session; written out as the partial indexes of the lists have them."""

TAGS = _table("tags", key="session tag", goes_with="session")

PLANS = _table(
    "plans",
    key="id",
    required="session number created_at planner planner_kind usage round attempt",
    optional="report failure seconds looks_back alternative",
    unique="session number",
    report=Json(TypeAdapter(PlanReport)),
    usage=Json(TypeAdapter(Usage)),
)

# Topology and steps are stored beside the workflow, so that a list of sessions reads no workflow.
# `redo` is the child that an undo left last for this one.
REVISIONS = _table(
    "revisions",
    key="id",
    required="session number origin note created_at workflow topology steps",
    optional="parent plan looks_back author redo",
    unique="session number",
    workflow=Stored(WORKFLOW),
)

# Kept by triggers, as the texts below are.
REVISION_WORKERS = _table("revision_workers", key="revision worker", goes_with="revision")

# What a session is listed by, in the order of a list: see `FacetKind`. Triggers write it.
SESSION_FACETS = Table(
    "session_facets",
    METADATA,
    *(Column(name, PlainText(), primary_key=True) for name in ("kind", "name")),
    Column("evaluated", Integer(), primary_key=True, autoincrement=False),
    Column("updated_at", Double(), primary_key=True, autoincrement=False),
    Column("session", PlainText(), ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sqlite_with_rowid=False,
)

# `stop_asked_at` is when another process asked the run's owner to stop it; `token` and `person` are who
# began it.
RUNS = _table(
    "runs",
    key="id",
    required="session number revision status started_at owner round",
    optional="parent finished_at answer pool_label experiment trial stop_asked_at token person",
    loose="token",
    unique="session number",
)

RUNNING = RUNS.c.status == literal_column("'running'")
"""Of a run without an end. The status is written out, so that the partial index over such runs is used."""

# `base` is the run that all trials are compared with, and whose outputs they see.
EXPERIMENTS = _table(
    "experiments",
    key="id",
    required="session number created_at base experiment",
    unique="session number",
    experiment=Json(TypeAdapter(Experiment)),
)

# `planned` holds the Conductor's workflow; `revision` descends from it by people's edits.
CORRECTIONS = _table("corrections", key="revision", required="session plan planned created_at")

RATINGS = _table("ratings", key="run", required="thumbs rated_at", optional="author")

# On words of a text of a run or a revision; `start` is a place in that text, see `Note`.
NOTES = _table(
    "notes",
    key="id",
    required="session part quote text created_at",
    optional="revision run step start author deleted_at",
)

# What a person asked the Conductor to change in a revision; `plan` is its answer, `chosen` the revision that
# was made of it.
CHANGE_REQUESTS = _table(
    "change_requests",
    key="id",
    required="session revision wish created_at",
    optional="author plan decision chosen",
)

# Questions that a team keeps as tests. `digest` is of the question, which a set has once; a test outlives the
# session and the run that it was kept from.
TEAM_TESTS = _table(
    "team_tests",
    key="id",
    required="data_set digest question accepted scorer created_at",
    optional="origin origin_run author",
)

EVENTS = _table("events", key="run seq", required="event", event=Stored(EVENT))

# By the call that gave them: equal steps have one fingerprint and an output each.
OUTPUTS = _table(
    "outputs",
    key="session fingerprint run step",
    required="output finished_at",
    loose="run",
    output=Stored(OUTPUT),
)

# What a session's events, outputs and revisions refer to, by digest: texts, and JSON that may refer to more.
# Apart, because rows of some hundred bytes between those of many thousand leave pages half empty.
LONG_TEXTS = _table("long_texts", key="session digest", required="text", goes_with="session")
FRAGMENTS = _table("fragments", key="session digest", required="text", goes_with="session")

API_TOKENS = _table(
    "api_tokens",
    key="id",
    required="name digest created_at limits",
    optional="used_at revoked_at",
    limits=Json(TypeAdapter(TokenLimits), exact=True),
)

# By the name of the person, "*" for everyone without limits of their own.
PEOPLE_LIMITS = _table(
    "people_limits", key="person", required="limits", limits=Json(TypeAdapter(Limits), exact=True)
)

# What was left at that time of a minute's requests and tokens; `token` or `person` is "". A rate that is open
# is empty.
RATES = Table(
    "rates",
    METADATA,
    *(Column(name, PlainText(), primary_key=True) for name in ("token", "person")),
    *(Column(name, Double()) for name in ("requests", "tokens")),
    Column("at", Double(), nullable=False),
    sqlite_with_rowid=False,
)

# How many requests came with a token, by the day (UTC).
API_SPENDING = _table("api_spending", key="token day", required="requests", requests=BigInteger())

# A row for each request to a worker that has ended, in the order of their ends; see `storage.tables.ledger`.
# It stays when its session or its run is removed. A number that is unknown is empty. `copied`: the request
# was not made in this store. `charged_tokens` and `charged_cost` are what a limit is charged.
CHARGES = Table(
    "charges",
    METADATA,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), Identity(), primary_key=True),
    Column("at", Double(), nullable=False),
    *(Column(name, PlainText()) for name in ("session", "run", "plan", "token", "person")),
    Column("step", Integer()),
    *(Column(name, PlainText(), nullable=False) for name in ("worker", "kind", "purpose")),
    *(Column(name, BigInteger()) for name in ("prompt", "completion", "cached", "reported_total")),
    *(Column(name, Double()) for name in ("cost", "least_cost", "reported_cost")),
    Column("charged_tokens", BigInteger(), nullable=False),
    Column("charged_cost", Double(), nullable=False),
    Column("copied", Integer(), nullable=False),
)

# The sums of charges by the quarter of an hour, which a trigger makes; copies are left out, and a `token` or
# `person` that is unknown is "". A sum without a worker is what a token spent before there was a ledger. On
# PostgreSQL a sum has several parts, so that processes which write at the same time do not wait for its row.
_SUMMED = ("calls", "prompt", "completion", "tokens_unknown", "costs_unknown", "charged_tokens")
USAGE_SUMS = Table(
    "usage_sums",
    METADATA,
    Column("quarter", BigInteger(), primary_key=True, autoincrement=False),
    *(Column(name, PlainText(), primary_key=True) for name in ("worker", "kind", "token", "person")),
    Column("part", Integer(), primary_key=True, autoincrement=False, server_default=text("0")),
    *(Column(name, BigInteger(), nullable=False) for name in _SUMMED),
    *(Column(name, Double(), nullable=False) for name in ("cost", "least_cost", "charged_cost")),
    sqlite_with_rowid=False,
)

# The same sums of a session's charges, copies included; they go with their session.
SESSION_SUMS = Table(
    "session_sums",
    METADATA,
    Column("session", PlainText(), primary_key=True),
    *(Column(name, BigInteger(), nullable=False) for name in _SUMMED[:5]),
    *(Column(name, Double(), nullable=False) for name in ("cost", "least_cost")),
)

# By the sessions that requests to the API began. The token's row is never removed; it is empty where no token
# was needed. The response is its body as it was sent, which is JSON in ASCII.
API_REQUESTS = _table(
    "api_requests", key="session", optional="token response", goes_with="session", loose="token"
)
# Those before the newest, where requests with the results of tools went on in the session; they differ in
# `answer`.
API_EARLIER_RESPONSES = _table("api_earlier_responses", key="session answer", required="response")

# By what the next turn of a conversation with a worker alone is known: digests of the messages so far.
API_CONVERSATIONS = _table("api_conversations", key="digest session", goes_with="session")

# Each text that a session is found by, once; the words in it are a full-text index of the database's own.
# Triggers add the rows, so the database numbers them.
TEXTS = Table(
    "texts",
    METADATA,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), Identity(), primary_key=True),
    Column("session", PlainText(), ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("kind", PlainText(), nullable=False),
    Column("text", PlainText(), nullable=False),
)

# An evaluation's items in their order, and a cell for each item, planner and repeat that was begun.
# `answered_in` is the cell's session, which may be removed; the result is empty until it is scored.
EVALUATIONS = _table(
    "evaluations",
    key="id",
    required="created_at spec",
    optional="ended_at reason",
    spec=Json(TypeAdapter(EvaluationSpec)),
)
EVALUATION_ITEMS = _table(
    "evaluation_items", key="evaluation item", required="content", content=Json(TypeAdapter(Item))
)
EVALUATION_CELLS = _table(
    "evaluation_cells",
    key="evaluation item planner repeat",
    required="answered_in",
    optional="result",
    result=Json(TypeAdapter(CellResult)),
)
