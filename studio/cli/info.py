"""`info`: which pool, store and variables are in force here, and why. Knows no variable's meaning."""

from __future__ import annotations

import os
import platform
import re
from itertools import chain
from pathlib import Path

from conductor.errors import ConductorError
from conductor.files.project_folder import own_pool_file, pool_place, store_place
from conductor.own_settings import setting
from conductor.text.formatting import quantity
from conductor.workers.pool.pool import configured_path, configured_pool
from storage import data_folder, default_url
from storage.database.database import Database
from studio.cli.options import App, Configured
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import folded, one_line
from studio.version import own_version

_PREFIX = "CONDUCTOR_"
_SECRET = re.compile("KEY|PASSWORD|SECRET|TOKEN|URL")
_OPEN = {"CONDUCTOR_APP_URL", "CONDUCTOR_KEY_HOSTS", "CONDUCTOR_KEY_NAMES"}
"""Variables that hold no secret, in spite of their names."""

_EXISTS = {True: "it is there", False: "it is made when it is needed", None: "a server's"}

app = App()


@app.command()
def info(options: Configured) -> int:
    """Show which pool, store and variables are in force here, and why.

    A pool file and a store are looked for in this folder and above it, as git does; then in this user's own.
    """
    shape: Shape = {
        "version": own_version(),
        "python": platform.python_version(),
        "program": str(Path(__file__).parents[2]),
        "pool": _pool(options),
        "store": _store(options),
        "own_pool": str(own_pool_file()),
        "variables": _variables(),
    }
    pool, store = shape["pool"], shape["store"]
    rows: list[tuple[str, ...]] = [
        ("version", shape["version"], f"Python {shape['python']}, in {shape['program']}"),
        ("pool", pool["place"] or "the built-in workers", pool["why"], pool["fault"] or pool["workers"]),
        ("store", store["place"], store["why"], store["fault"] or _EXISTS[store["exists"]]),
        ("files", store["folder"], "tokens, models and trainings"),
        ("own pool", shape["own_pool"], "in force where no folder from here up has one"),
        *shape["variables"].items(),
    ]
    width = max(len(what) for what, *_ in rows)
    lines = [
        f"{'' if at else what:{width}}  {line}"
        for what, *texts in rows
        for at, line in enumerate(chain(*(folded(one_line(text), before=width + 2) for text in texts)))
    ]
    return options.show(shape, *lines)


def _pool(options: Configured) -> Shape:
    """`fault` is why it cannot be read, null if it can."""
    path, place = configured_path(options.pool), pool_place()
    if options.pool is not None:
        why = "--pool"
    elif setting("CONDUCTOR_POOL"):
        why = "CONDUCTOR_POOL"
    else:
        why = "no folder from here up has a pool.toml" if place is None else place.why
    shape: Shape = {"place": None if path is None else str(path), "why": why, "workers": None, "fault": None}
    try:
        pool = configured_pool(path)
    except ConductorError as error:
        return {**shape, "fault": str(error)}
    planner = "the rules plan" if pool.conductor is None else "its [conductor] plans"
    return {**shape, "workers": f"{quantity(len(pool.workers), 'worker')}; {planner}"}


def _store(options: Configured) -> Shape:
    """`exists` is null for a store that is no file."""
    url = options.database or default_url()
    if options.database is not None:
        why = "--database"
    elif setting("CONDUCTOR_DATABASE_URL"):
        why = "CONDUCTOR_DATABASE_URL"
    else:
        why = store_place().why
    try:
        database = Database(url)
    except ConductorError as error:
        return {"place": "?", "why": why, "exists": None, "folder": "?", "fault": str(error)}
    exists = None if database.path is None else database.path.exists()
    place = database.place if database.path is None else str(database.path.absolute())
    folder = str(data_folder(url).absolute())
    return {"place": place, "why": why, "exists": exists, "folder": folder, "fault": None}


def _variables() -> dict[str, str]:
    """Those of this program that are set; of what may be a secret only that it is."""
    names = sorted(name for name in os.environ if name.startswith(_PREFIX))
    return {
        name: "(set)" if _SECRET.search(name) and name not in _OPEN else os.environ[name] for name in names
    }
