"""Runs a notebook's cells by IPython and prints what they show as JSON, for `notebook.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config


class _Silent(DisplayHook):
    """Leaves the value that a cell ends in to be formatted, and prints nothing of it."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        pass

    def finish_displayhook(self) -> None:
        pass


def main(notebook: Path) -> None:
    InteractiveShell.display_pub_class = CapturingDisplayPublisher
    InteractiveShell.displayhook_class = _Silent
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.kernel = object()
    sources = [
        "".join(cell["source"])
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    print(json.dumps([_forms_of(shell, source) for source in sources]))


def _forms_of(shell: InteractiveShell, source: str) -> tuple[str, list[str], str, str]:
    shell.display_pub.outputs.clear()
    with capture_output(display=False) as printed:
        result = shell.run_cell(source)
    result.raise_error()
    displays = [each["data"].get("text/html", "") for each in shell.display_pub.outputs]
    if result.result is None:
        return printed.stdout, displays, "", ""
    forms, _ = shell.display_formatter.format(result.result)
    return printed.stdout, displays, forms.get("text/html", ""), forms["text/plain"]


main(Path(sys.argv[1]))
