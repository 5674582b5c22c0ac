"""`restore`: a copy of a whole store in the store's place."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from typer import Argument

from storage import default_url
from studio.cli.options import App, Stored

app = App()


@app.command()
def restore(
    file: Annotated[Path, Argument(metavar="FILE", help="What `backup` made.")], *, options: Stored
) -> int:
    """Put a copy made by `backup` in the store's place.

    The store that was there is put aside, and named. Refused while another program has the store open.
    """
    from storage.store import backup  # noqa: PLC0415 - for this command only

    aside = backup.restore(options.database or default_url(), file, now=time.time())
    lines = [f"{file} is the store now."] + ([] if aside is None else [f"What was there is {aside}."])
    return options.show({"file": str(file), "aside": None if aside is None else str(aside)}, *lines)
