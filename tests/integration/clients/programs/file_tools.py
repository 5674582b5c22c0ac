"""What a program lets a model do with files: read one, replace a word in one, run a command."""

import subprocess
from pathlib import Path


def read_file(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text(encoding="utf-8")


def edit_file(path: str, old: str, new: str) -> str:
    """Replace a text in a file."""
    file = Path(path)
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return "replaced"


def run(command: str) -> str:
    """Run a command of the shell and return what it prints."""
    return subprocess.run(command, shell=True, capture_output=True, encoding="utf-8", check=True).stdout
