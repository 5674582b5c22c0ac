"""`backup`: the whole store as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from conductor.text.formatting import size
from storage import default_url
from studio.cli.options import App, Stored

app = App()


@app.command()
def backup(file: Annotated[Path, Argument(metavar="FILE", help="A new file.")], *, options: Stored) -> int:
    """Copy the whole store to one file, while others use it.

    The copy is checked. For a store on PostgreSQL the command of its own programs is named instead.
    """
    from storage.store.backup import back_up  # noqa: PLC0415 - for this command only

    length = back_up(options.database or default_url(), file)
    return options.show({"file": str(file), "bytes": length}, f"{size(length)} copied to {file} and checked.")
