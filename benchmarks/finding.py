"""How long it takes to list and to find among 10,000 sessions: python benchmarks/finding.py [--json].

The sessions are made by the thousand straight through the tables, so that the triggers index them as they
index the app's. Each question is asked of the store and held against the least that the same file allows:
a bare query for one page of titles, on a connection of its own, without SQLAlchemy.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate, product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Spread
from benchmarks.report import machine
from conductor.workflow.model import Step, Workflow
from storage import EVERYTHING, SessionFilter, SessionStore
from storage.database.database import Database
from storage.database.schema import CHARGES, REVISIONS, RUNS, SESSIONS, TAGS

SESSIONS_MADE = 10_000
ROUNDS = 15
BATCH = 2_000
PAGE = 20
STATES = ("finished", "finished", "finished", "planned", "failed", "cancelled")
WORKERS = ("planner-7b", "writer-8b", "critic-7b", "steady-13b")
COMMON, RARE = "question", "zeppelin"
BARE = "SELECT id, title, updated_at FROM sessions WHERE deleted_at IS NULL ORDER BY updated_at DESC LIMIT 20"

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
    "date": SessionFilter(since=SESSIONS_MADE * 0.4, until=SESSIONS_MADE * 0.5),
    "tokens": SessionFilter(least_tokens=1000, most_tokens=2000),
    "all at once": SessionFilter(
        search=COMMON, states=("finished",), topologies=("chain",), workers=(WORKERS[0],), least_tokens=500
    ),
}


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


def measure(url: str, *, rounds: int) -> dict[str, dict[str, Spread]]:
    """Seconds of each question: its first page, how many it finds, and the snippets of that page."""
    with SessionStore.open(url) as store:
        spreads = {}
        for name, filter in QUESTIONS.items():
            page = [summary.id for summary in store.sessions.listed(filter, limit=PAGE)]
            calls: Mapping[str, Callable[[], object]] = {
                "page": lambda filter=filter: store.sessions.listed(filter, limit=PAGE),
                "count": lambda filter=filter: store.sessions.count(filter),
                "snippets": lambda page=page, filter=filter: store.sessions.snippets(page, filter.search),
            }
            spreads[name] = {part: _spread(ask, rounds=rounds) for part, ask in calls.items()}
        choices: Mapping[str, Callable[[], object]] = {
            "page": store.sessions.known_workers,
            "count": store.sessions.known_tags,
        }
        spreads[CHOICES] = {part: _spread(ask, rounds=rounds) for part, ask in choices.items()}
    return spreads


def bare(file: Path, *, rounds: int) -> Spread:
    """Seconds of the bare query on the same file."""
    with closing(sqlite3.connect(file)) as connection:
        return _spread(lambda: connection.execute(BARE).fetchall(), rounds=rounds)


def _spread(ask: Callable[[], object], *, rounds: int) -> Spread:
    ask()
    samples = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        samples.append(time.perf_counter() - began)
    return Spread.of(samples)


def lines(floor: Spread, spreads: Mapping[str, Mapping[str, Spread]]) -> Iterator[str]:
    """The numbers as a table in Markdown."""
    yield f"{machine()}; {SESSIONS_MADE:,} sessions; median (minimum)"
    yield f"A bare query for a page of titles takes {floor.median * 1e3:.2f} ms ({floor.minimum * 1e3:.2f})."
    yield ""
    yield "| asked for | a page, ms | / bare | how many, ms | / bare | snippets, ms |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, parts in spreads.items():
        page, count, snippets = parts["page"], parts["count"], parts.get("snippets")
        yield (
            f"| {name} | {_milliseconds(page)} | {page.median / floor.median:.0f} "
            f"| {_milliseconds(count)} | {count.median / floor.median:.0f} "
            f"| {'' if snippets is None else _milliseconds(snippets)} |"
        )


def _milliseconds(spread: Spread) -> str:
    return f"{spread.median * 1e3:.1f} ({spread.minimum * 1e3:.1f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="the numbers, in seconds")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "conductor.db"
        fill(f"sqlite:///{file}", count=SESSIONS_MADE)
        floor = bare(file, rounds=ROUNDS)
        spreads = measure(f"sqlite:///{file}", rounds=ROUNDS)
    if options.json:
        numbers = {
            name: {part: vars(spread) for part, spread in parts.items()} for name, parts in spreads.items()
        }
        print(json.dumps({"machine": machine(), "bare": vars(floor), "found": numbers}, indent=2))
    else:
        print("\n".join(lines(floor, spreads)))


if __name__ == "__main__":
    main()
