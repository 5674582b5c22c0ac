"""Reads stored JSON that refers to fragments back as the values that it was made of.

- `{"$text": DIGEST}` stands for a text.
- `{"$value": DIGEST}` stands for the value whose JSON that fragment is.
- `{"$parts": DIGESTS, "nonce": NONCE}` stands, in a list, for the elements of the lists whose JSON those
  fragments are, one digest after another. In their frames `MARK` stands for the nonce, in which alone the
  requests that show a step differ; an empty nonce leaves them as they are.

No value has a name that begins with a dollar sign, and quotation marks inside JSON's texts are escaped: the
references are found in JSON that is read as text. What several values share is one object in memory, as it is
one row in the store.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Self, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json as parsed
from sqlalchemy import ColumnElement, Connection, Select, Table, Text, bindparam, select

from conductor.errors import WorkflowError
from storage.database.encoding import from_json, unreadable
from storage.database.schema import FRAGMENTS, LONG_TEXTS

T = TypeVar("T")

Session = str | ColumnElement[str]
"""A session's id, or a query for it."""

_MOST = 500
"""Digests in one query."""

TEXT, VALUE, PARTS, NONCE = "$text", "$value", "$parts", "nonce"

MARK = "\ue000"
"""A character that Unicode leaves to private use."""

ANY = '{"$'
"""What stored JSON contains where it refers to anything."""

DIGEST_LENGTH = 22

_REFERENCE = re.compile(r'\{"\$(text|value|parts)":"([\w-]+)"')


def digest_of(text: str) -> str:
    """128 bits over the text, as `DIGEST_LENGTH` characters. Raises `UnicodeEncodeError` for half a pair."""
    return urlsafe_b64encode(blake2b(text.encode(), digest_size=16).digest()).decode()[:DIGEST_LENGTH]


def digests_in(joined: str) -> list[str]:
    """The digests that were written one after another."""
    return [joined[at : at + DIGEST_LENGTH] for at in range(0, len(joined), DIGEST_LENGTH)]


@dataclass
class Reached:
    """The digests that stored JSON refers to: of texts, and of JSON that may refer to more."""

    texts: set[str] = field(default_factory=set)
    json: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, *stored: str) -> Self:
        """What these refer to."""
        reached = cls()
        for text in stored:
            reached.add(text)
        return reached

    def add(self, stored: str) -> None:
        """Add what this JSON refers to, even if it is damaged."""
        if ANY in stored:
            for kind, digests in _REFERENCE.findall(stored):
                (self.texts if kind == "text" else self.json).update(digests_in(digests))


# -- read back -------------------------------------------------------------------------------------


def read(connection: Connection, session: Session, adapter: TypeAdapter[T], stored: Sequence[str]) -> list[T]:
    """The values that this JSON of the session holds, in order.

    Raises `StorageError` where one is not of the expected form, or refers to what is not there.
    """
    referring = [text for text in stored if ANY in text]
    if not referring:
        return [from_json(adapter, text) for text in stored]
    reached = Reached.of(*referring)
    json = _follow(connection, session, reached)
    filling = _Filling(_rows(connection, LONG_TEXTS, session, reached.texts), json)
    return [filling.value(adapter, text) if ANY in text else from_json(adapter, text) for text in stored]


class Reachable(NamedTuple):
    """The digests of texts, and JSON by digest."""

    texts: Set[str]
    json: Mapping[str, str]


def reachable(connection: Connection, session: Session, directly: Reached) -> Reachable:
    """What is referred to in this session, directly or through fragments."""
    reached = Reached(texts=set(directly.texts), json=set(directly.json))
    json = _follow(connection, session, reached)
    return Reachable(reached.texts, json)


def _follow(connection: Connection, session: Session, reached: Reached) -> Mapping[str, str]:
    """JSON by digest; `reached` grows by what it refers to.

    Takes a query for each fragment that lies behind another one; a request's parts are the third at most.
    """
    texts: dict[str, str] = {}
    digests: set[str] = set()
    while missing := reached.json - digests:
        digests |= missing
        batch = _rows(connection, FRAGMENTS, session, missing)
        texts |= batch
        for stored in batch.values():
            reached.add(stored)
    return texts


def _rows(connection: Connection, table: Table, session: Session, digests: Set[str]) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    ordered = sorted(digests)
    for start in range(0, len(ordered), _MOST):
        some = ordered[start : start + _MOST]
        if isinstance(session, str):
            rows = connection.execute(_OF_SESSION[table], {"session": session, "digests": some})
        else:
            rows = connection.execute(_query(table, session), {"digests": some})
        texts |= {row.digest: row.text for row in rows}
    return texts


def _query(table: Table, session: ColumnElement[str]) -> Select[tuple[str, str]]:
    some = table.c.digest.in_(bindparam("digests", expanding=True))
    return select(table.c.digest, table.c.text).where(table.c.session == session, some)


# Made once: to make a statement takes longer than SQLite takes to execute it.
_OF_SESSION = {table: _query(table, bindparam("session", type_=Text)) for table in (LONG_TEXTS, FRAGMENTS)}


class _Filling:
    """Puts fragments in the place of references. Raises `KeyError` for one that is not there."""

    def __init__(self, texts: Mapping[str, str], json: Mapping[str, str]) -> None:
        self._texts = texts
        self._json = json
        self._values: dict[str, Any] = {}

    def value(self, adapter: TypeAdapter[T], text: str) -> T:
        """The value that this JSON holds. Raises `StorageError`."""
        try:
            return adapter.validate_python(self._filled(parsed(text)), extra="ignore")
        except KeyError as error:
            raise unreadable(text, f"the text {error} that it refers to is missing") from error
        except (ValidationError, WorkflowError, ValueError) as error:
            raise unreadable(text, error) from error

    def _filled(self, stored: Any) -> Any:
        if isinstance(stored, list):
            return [part for each in stored for part in self._elements(each)]
        if not isinstance(stored, dict):
            return stored
        if TEXT in stored:
            return self._texts[stored[TEXT]]
        if VALUE in stored:
            return self._fragment(stored[VALUE])
        return {name: self._filled(part) for name, part in stored.items()}

    def _elements(self, stored: Any) -> Sequence[Any]:
        """The values that one stored element of a list represents."""
        if not isinstance(stored, dict) or PARTS not in stored:
            return (self._filled(stored),)
        nonce = stored[NONCE]
        return [
            {**part, "text": part["text"].replace(MARK, nonce)} if nonce and part["kind"] == "frame" else part
            for digest in digests_in(stored[PARTS])
            for part in self._fragment(digest)
        ]

    def _fragment(self, digest: str) -> Any:
        if digest not in self._values:
            self._values[digest] = self._filled(parsed(self._json[digest]))
        return self._values[digest]
