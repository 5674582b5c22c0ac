"""What it costs to list and to find sessions in a small store and a large one: python benchmarks/finding.py.

The sessions are made straight through the tables, by the thousand, so that the triggers index them as they
index the app's: each has one to three steps, two runs with answers of 60 words and their charges, a fifth of
them a tag. A question is a window of a list, which counts up to 1,000 sessions, and its first page of 20.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, product
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sqlalchemy import Connection

from benchmarks.measure import Spread
from benchmarks.report import machine
from conductor.workflow.model import Step, Workflow
from storage import EVERYTHING, SessionFilter, SessionStore
from storage.database.database import Database
from storage.database.schema import CHARGES, REVISIONS, RUNS, SESSIONS, TAGS
from storage.search import listing
from storage.search.conditions import facet_names
from storage.search.query import snippets, summaries

SIZES = (10_000, 100_000)
ROUNDS = 5
REPEATS = 4
BATCH = 2_000
PAGE = 20
STATES = ("finished", "finished", "finished", "planned", "failed", "cancelled")
WORKERS = ("planner-7b", "writer-8b", "critic-7b", "steady-13b")
COMMON, RARE = "question", "zeppelin"

CHOICES = "choices: workers, then tags"

QUESTIONS: Mapping[str, SessionFilter] = {
    "everything": EVERYTHING,
    "a word that all have": SessionFilter(search=COMMON),
    "a word that 1 in 1,000 has": SessionFilter(search=RARE),
    "two words": SessionFilter(search="bake medo"),
    "two letters": SessionFilter(search="me"),
    "three letters": SessionFilter(search="que"),
    "a phrase": SessionFilter(search=f'"{COMMON} about"'),
    "a word that none has": SessionFilter(search="nowhere"),
    "state": SessionFilter(states=("failed",)),
    "topology": SessionFilter(topologies=("chain",)),
    "worker": SessionFilter(workers=(WORKERS[0],)),
    "tag": SessionFilter(tags=("tag 5",)),
    "date": SessionFilter(since=4_000.0, until=5_000.0),
    "tokens": SessionFilter(least_tokens=1000, most_tokens=2000),
    "all at once": SessionFilter(
        search=COMMON, states=("finished",), topologies=("chain",), workers=(WORKERS[0],), least_tokens=500
    ),
}


class Cost(NamedTuple):
    """Processor time in seconds; how many sessions a window has, and whether others follow."""

    window: Spread
    snippets: Spread
    count: int
    has_more: bool


def fill(url: str, *, count: int) -> None:
    """Make `count` sessions, each with a workflow of one to three steps, two runs and sometimes a tag."""
    SessionStore.open(url).close()
    database = Database(url)
    chance = random.Random(7)
    vocabulary = _vocabulary(chance)
    # As in a language: the second word half as often as the first, the third a third.
    weights = list(accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))

    def words(many: int) -> str:
        return " ".join(chance.choices(vocabulary, cum_weights=weights, k=many))

    for begin in range(0, count, BATCH):
        numbers = range(begin, min(begin + BATCH, count))
        sessions = [_session_rows(number, words, chance) for number in numbers]
        with database.transaction(to="write") as connection:
            for table in (SESSIONS, REVISIONS, RUNS, CHARGES, TAGS):
                rows = [row for session in sessions for row in session.get(table.name, ())]
                connection.execute(table.insert(), rows)
    if database.path is None:
        # As PostgreSQL does by itself some minutes later.
        with database.transaction(to="write") as connection:
            connection.exec_driver_sql("ANALYZE")
    database.close()


def _vocabulary(chance: random.Random) -> list[str]:
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    words = {"".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(30_000)}
    return sorted(words, key=lambda word: (len(word), word))


def _session_rows(number: int, words: Callable[[int], str], chance: random.Random) -> Mapping[str, list[Any]]:
    name, revision = f"{number:016x}", f"r{number:015}"
    query = f"{COMMON} about {words(12)} {RARE if number % 1000 == 0 else ''}"
    workflow = Workflow.of(
        Step(instruction=f"Do {words(30)}", worker=chance.choice(WORKERS), access=(at - 1,) if at else ())
        for at in range(number % 3 + 1)
    )
    state = chance.choice(STATES)
    session = {
        "id": name,
        "title": query[:60],
        "query": query,
        "created_at": float(number),
        "updated_at": float(number),
        "head": revision,
        "state": state,
    }
    shape = {
        "id": revision,
        "session": name,
        "number": 1,
        "origin": "conductor",
        "note": "",
        "created_at": float(number),
        "workflow": workflow,
        "topology": workflow.topology,
        "steps": len(workflow),
    }
    runs = [
        {
            "id": f"n{number:014}{run}",
            "session": name,
            "number": run + 1,
            "revision": revision,
            "status": "finished",
            "started_at": float(number),
            "finished_at": float(number),
            "answer": f"The answer: {words(60)}",
            "owner": "nobody",
            "round": 1,
        }
        for run in range(2)
    ]
    charges = [
        {
            "at": float(number),
            "session": name,
            "run": run["id"],
            "worker": WORKERS[0],
            "kind": "model",
            "purpose": "step",
            "prompt": chance.randrange(5000),
            "completion": 0,
            "charged_tokens": 0,
            "charged_cost": 0.0,
            "copied": 0,
        }
        for run in runs
    ]
    tags = [{"session": name, "tag": f"tag {number % 50}"}] if number % 5 == 0 else []
    return {"sessions": [session], "revisions": [shape], "runs": runs, "charges": charges, "tags": tags}


def measure(url: str, *, rounds: int) -> dict[str, Cost]:
    """What each question costs in a store: the window of a list with its first page, and its snippets."""
    costs = {}
    # On a connection: a store answers the same question from memory, until something is written.
    database = Database(url)
    clock = _clock(database)
    with database.transaction(to="read") as connection:
        for name, filter in QUESTIONS.items():
            window = listing.window(connection, filter)
            page = window.ids[:PAGE]
            asks: Sequence[Callable[[], object]] = (
                lambda filter=filter: summaries(connection, listing.window(connection, filter).ids[:PAGE]),
                lambda page=page, filter=filter: snippets(connection, page, filter.search),
            )
            spreads = [_spread(ask, rounds=rounds, clock=clock) for ask in asks]
            costs[name] = Cost(*spreads, count=len(window.ids), has_more=window.further is not None)
        names = _spread(lambda: list(_names(connection)), rounds=rounds, clock=clock)
        costs[CHOICES] = Cost(names, names, count=len(list(_names(connection))), has_more=False)
    database.close()
    return costs


def _names(connection: Connection) -> Iterator[str]:
    for kind in ("worker", "tag"):
        yield from facet_names(connection, kind)


def _clock(database: Database) -> Callable[[], float]:
    """Seconds of processor time of this process, and of the processes of a PostgreSQL on this machine."""
    if database.path is not None:
        return time.process_time
    ticks = os.sysconf("SC_CLK_TCK")
    own = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    with database.transaction(to="read") as connection:
        pids = connection.exec_driver_sql(own).scalars().all()

    def seconds() -> float:
        used = 0
        for pid in pids:
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                used += int(fields[11]) + int(fields[12])
        return time.process_time() + used / ticks

    return seconds


def _spread(ask: Callable[[], object], *, rounds: int, clock: Callable[[], float]) -> Spread:
    ask()
    samples = []
    for _ in range(rounds):
        began = clock()
        for _ in range(REPEATS):
            ask()
        samples.append((clock() - began) / REPEATS)
    return Spread.of(samples)


def lines(sizes: Sequence[int], measured: Sequence[Mapping[str, Cost]]) -> Iterator[str]:
    """The numbers as a table in Markdown."""
    small, large = sizes
    yield f"{machine()}; milliseconds of processor time, median (minimum)"
    yield ""
    yield f"| asked for | of {small:,}: sessions | ms | of {large:,}: sessions | ms | ratio | snippets, ms |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in measured[0]:
        few, many = (costs[name] for costs in measured)
        ratio = many.window.minimum / few.window.minimum
        yield (
            f"| {name} | {few.count} | {_milliseconds(few.window)} | {many.count} "
            f"| {_milliseconds(many.window)} | {ratio:.1f} | {_milliseconds(many.snippets)} |"
        )


def _milliseconds(spread: Spread) -> str:
    return f"{spread.median * 1e3:.1f} ({spread.minimum * 1e3:.1f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", nargs=2, type=int, default=SIZES, metavar="N", help="sessions in each store"
    )
    parser.add_argument(
        "--stores", nargs=2, metavar="URL", help="two stores, which are filled if they are empty, and stay"
    )
    parser.add_argument("--json", action="store_true", help="the numbers, in seconds")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        stores = options.stores or [f"sqlite:///{folder}/{size}.db" for size in options.sizes]
        measured = []
        for url, size in zip(stores, options.sizes, strict=True):
            with SessionStore.open(url) as store:
                is_empty = not store.sessions.newest(limit=1)
            if is_empty:
                fill(url, count=size)
            measured.append(measure(url, rounds=ROUNDS))
    if options.json:
        print(json.dumps({"machine": machine(), "sizes": options.sizes, "costs": measured}, default=vars))
    else:
        print("\n".join(lines(options.sizes, measured)))


if __name__ == "__main__":
    main()
