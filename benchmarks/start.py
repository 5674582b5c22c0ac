"""What a start costs: the processor time of commands, and of the app until it is healthy.

Each against the least that it could be: a process that loads the same libraries, and a Streamlit app of one
line. All take turns; the ratios hold where the seconds do not.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import Spread
from benchmarks.upstream import Pace, upstream

ROOT = Path(__file__).resolve().parent.parent
QUERY = ("What is 17 * 23?", "--planner", "worker:one")
LIBRARIES = "import gc; gc.disable(); import typer, pydantic.types, sqlalchemy.dialects.sqlite"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "Typer, pydantic and SQLAlchemy alone": ("-c", LIBRARIES),
    "sessions list": ("-m", "conductor", "sessions", "list"),
    "plan": ("-m", "conductor", "plan", *QUERY),
    "run": ("-m", "conductor", "run", *QUERY),
}
APPS: Mapping[str, str] = {"a Streamlit app of one line": "one_line.py", "the app": str(ROOT / "app.py")}
POOL = '[[worker]]\nname = "one"\nbase_url = "{url}"\nmodel = "one"\n'


@dataclass(frozen=True)
class Start:
    """Seconds of processor time, with the kernel's; `ratio` is of the minima, to the first of its kind."""

    seconds: Spread
    ratio: float


def measure(rounds: int) -> dict[str, Start]:
    """By name, in the order of the tables above; the first round, which compiles, does not count."""
    samples: dict[str, list[float]] = {name: [] for name in (*COMMANDS, *APPS)}
    with tempfile.TemporaryDirectory() as name, upstream(Pace(latency=0, tokens=1)) as url:
        folder = Path(name)
        (folder / "pool.toml").write_text(POOL.format(url=url), encoding="utf-8")
        (folder / "one_line.py").write_text("import streamlit; streamlit.title('?')\n", encoding="utf-8")
        for counts in (False, *[True] * rounds):
            for program, times in samples.items():
                app, command = APPS.get(program), COMMANDS.get(program, ())
                seconds = _command(folder, command) if app is None else _app(folder, app)
                if counts:
                    times.append(seconds)
    spreads = {program: Spread.of(seconds) for program, seconds in samples.items()}
    floors = {program: next(iter(kind)) for kind in (COMMANDS, APPS) for program in kind}
    return {
        program: Start(spread, spread.minimum / spreads[floors[program]].minimum)
        for program, spread in spreads.items()
    }


def _command(folder: Path, arguments: tuple[str, ...]) -> float:
    return _processor_time(folder, arguments, ready=lambda: None)


def _app(folder: Path, file: str) -> float:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def ready() -> None:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
                return
            except OSError:
                time.sleep(0.01)

    server = ("-m", "streamlit", "run", file, "--server.port", str(port), "--server.headless", "true")
    return _processor_time(folder, server, ready=ready, ends=False)


def _processor_time(
    folder: Path, arguments: tuple[str, ...], *, ready: Callable[[], None], ends: bool = True
) -> float:
    """Seconds that a process of Python takes until it is ready or, where it `ends`, until its end."""
    # Where bytecode is not written, as in many containers, each process would compile all that it loads.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**inherited, "PYTHONPATH": str(ROOT), "CONDUCTOR_POOL": str(folder / "pool.toml")}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ready()
    if not ends:
        process.kill()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if ends and process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed with {process.returncode}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    starts = measure(options.rounds)
    if options.json:
        print(json.dumps({name: asdict(start) for name, start in starts.items()}))
        return
    print("| seconds of processor time | median (minimum) | ratio |\n| --- | ---: | ---: |")
    for name, start in starts.items():
        print(f"| {name} | {start.seconds.median:.2f} ({start.seconds.minimum:.2f}) | {start.ratio:.1f} |")


if __name__ == "__main__":
    main()
