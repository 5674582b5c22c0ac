"""`open ID`: a session's page of the app, in the browser."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

from conductor.own_settings import setting
from studio.cli.opening import SessionId, session_of, stored
from studio.cli.options import App, Stored, flag, option

VARIABLE = "CONDUCTOR_APP_URL"
"""The environment variable with the app's address, as people reach it."""

URL = "http://localhost:8501"
"""Where `serve` has the app unless it is given another address."""

app = App()


@app.command("open")
def open_page(
    id: SessionId,
    *,
    url: Annotated[str | None, option(f"The app's address; default: {VARIABLE}, else {URL}.", "URL")] = None,
    only_print: Annotated[bool, flag("--print", "Open no browser.")] = False,
    options: Stored,
) -> int:
    """Open a session's page in a browser.

    Prints its address; where stdout is no terminal that is all.
    """
    with stored(options) as store:
        session = session_of(store, id)
    address = f"{(url or setting(VARIABLE) or URL).rstrip('/')}/?session={session}"
    options.show({"session": session, "url": address}, address)
    if sys.stdout.isatty() and not (only_print or options.json):
        webbrowser.open(address)
    return 0
