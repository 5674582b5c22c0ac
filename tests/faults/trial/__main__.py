"""Thirty clients of three processes of the API and two of the app; each 30 s one process is killed.

    python -m tests.faults.trial --seconds 600

Needs PostgreSQL, nginx and Chromium. Prints figures as JSON, then the faults; ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from pathlib import Path

from tests.faults.trial.trial import Trial


def main() -> int:
    """Try it and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.trial", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--folder", type=Path, help="of the processes' logs and of all that was compared")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="trial-"))
    folder.mkdir(exist_ok=True)
    # OpenAI's client does not close the generators of a stream that is left, and asyncio logs that.
    logging.getLogger("asyncio").disabled = True
    figures, faults = Trial(folder, options.seconds).run()
    print(json.dumps(figures, indent=1))
    print(*faults, f"{len(faults)} faults; the files are in {folder}", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
