"""Kill it again and again: `python -m tests.faults [--kills 200] [--seed 1] [--json]`, from the root.

With `--crowd 100` each process has so many runs at once, and the ages of the lost outputs are printed;
`--database` is the URL of an empty PostgreSQL database, where it is not to be SQLite.

A tenth of the kills are of the app itself, driven in a browser; the others are of processes that do what it
does. Ends with 1 where anything was lost.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from dataclasses import asdict

from studio.gc_tuning import settle
from tests.faults.app import App, chromium
from tests.faults.crowd import losses
from tests.faults.harness import done, shared_out
from tests.faults.ledger import Ledger

_HEAD = ("Work", "Kills", "Restarts", "Unfinished", "Checked", "Steps kept", "Losses")


def main() -> int:
    """Run it and print a table, or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of the table")
    parser.add_argument("--crowd", type=int, metavar="RUNS", help="kill amid so many runs at once")
    parser.add_argument("--database", metavar="URL", help="of the store for --crowd")
    options = parser.parse_args()
    # The endpoint logs of every killed client that it left.
    logging.getLogger("uvicorn.error").disabled = True
    settle()
    if options.crowd:
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            url = options.database or f"sqlite:///{folder}/crowd.db"
            print(json.dumps(asdict(losses(url, runs=options.crowd, kills=options.kills, seed=options.seed))))
        return 0
    of_app = options.kills // 10 if chromium() else 0
    kinds = {**shared_out(options.kills - of_app), **({App: of_app} if of_app else {})}
    ledgers = done(kinds, seed=options.seed, show=_print_progress)
    print("", file=sys.stderr)
    lost = [loss for ledger in ledgers for loss in ledger.losses]
    if options.json:
        print(json.dumps({"seed": options.seed, "work": [ledger.shape for ledger in ledgers]}, indent=2))
    else:
        print("\n".join(_table(ledgers)))
        print("\n".join(lost))
    if not chromium():
        print("No browser was found: the app itself was not killed.", file=sys.stderr)
    return 1 if lost else 0


def _print_progress(ledger: Ledger) -> None:
    print(f"\r{ledger.work}: {ledger.kills} kills, {len(ledger.losses)} losses ", end="", file=sys.stderr)


def _table(ledgers: list[Ledger]) -> list[str]:
    """Markdown, with a last row of sums."""
    rows = [
        (
            ledger.work,
            ledger.kills,
            ledger.restarts,
            ledger.unfinished,
            ledger.checked,
            ledger.resumed,
            len(ledger.losses),
        )
        for ledger in ledgers
    ]
    sums = ("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
    rule = "| --- |" + " ---: |" * (len(_HEAD) - 1)
    lines = [
        "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |"
        for row in (_HEAD, *rows, sums)
    ]
    return [lines[0], rule, *lines[1:]]


if __name__ == "__main__":
    sys.exit(main())
