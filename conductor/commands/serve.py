"""`serve`: start the app."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_APP = Path(__file__).resolve().parents[2] / "app.py"


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("serve", parents=parents, help="start the app")
    parser.add_argument("--port", type=int, default=8501)
    parser.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    """Run the app's server until it stops; its exit code."""
    environment = dict(os.environ)
    if options.pool is not None:
        environment["CONDUCTOR_POOL"] = str(options.pool.resolve())
    if options.database is not None:
        environment["CONDUCTOR_DATABASE_URL"] = options.database
    if options.json:
        print(json.dumps({"url": f"http://localhost:{options.port}"}), flush=True)
    command = [sys.executable, "-m", "streamlit", "run", str(_APP), "--server.port", str(options.port)]
    if hasattr(os, "fork"):
        # The server takes this process's place, so that whoever stops this one stops the server.
        sys.stdout.flush()
        os.execve(sys.executable, command, environment)  # noqa: S606 - our own interpreter and file
    return subprocess.call(command, env=environment)  # noqa: S603 - the same, where processes cannot be replaced
