"""A team's tests: questions of its own sessions, each with the answer that counts and how it is compared.

Values only. Knows no store, no session and no command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.values.messages import Value

TeamCheck = Literal["contains", "number", "mathematics", "judge"]
"""The scorers that a test may have."""


class TeamTest(Value):
    """A question with its `accepted` answer, in the set `data_set`.

    `origin` is the session and `origin_run` the run that it was kept from, which may be removed by now;
    `author` is the person who kept it, None if unknown.
    """

    id: str
    data_set: str
    question: str
    accepted: str
    scorer: TeamCheck
    created_at: float
    origin: str | None = None
    origin_run: str | None = None
    author: str | None = None

    @property
    def item(self) -> Item:
        """The test as an evaluation asks it."""
        origin = {"session": self.origin, "run": self.origin_run, "author": self.author}
        return Item(
            id=self.id,
            input=self.question,
            target=(self.accepted,),
            scorer=self.scorer,
            metadata={name: value for name, value in origin.items() if value is not None},
        )


def team_set(
    name: str, tests: Iterable[TeamTest], *, scorer: str | None = None, limit: int | None = None
) -> DataSet:
    """The tests as a data set, or the first `limit` of them; `scorer` takes the place of each one's own.

    Raises `DataError` if there is no test.
    """
    own = {} if scorer is None else {"scorer": scorer}
    items = tuple(test.item.model_copy(update=own) for test in tests)[:limit]
    if not items:
        raise DataError(
            f"There is no set {name!r}; `evaluate tests` lists the team's, `evaluate sets` all others. A "
            "file is named with its ending: .jsonl, .csv or .parquet."
        )
    return DataSet(name, items)
