"""The supervisor of limited processes on systems that refuse what this one has."""

from __future__ import annotations

from pathlib import Path

import conductor.limited

NO_NAMESPACES = """
import ctypes
real = ctypes.CDLL
class Libc:
    def __init__(self, *given, **named): self.real = real(*given, **named)
    def __getattr__(self, name): return (lambda *_: -1) if name == "unshare" else getattr(self.real, name)
ctypes.CDLL = Libc
"""
"""Put before the supervisor: the system refuses namespaces, as in a container."""


def changed_supervisor(folder: Path, lines: str) -> str:
    """A supervisor that runs `lines` first, with its module as `supervisor`; its file, in `folder`."""
    file = folder / "supervisor.py"
    source = str(Path(conductor.limited.__file__).parent)
    file.write_text(
        f"import os, subprocess, sys\nsys.path.insert(0, {source!r})\nimport supervisor\n{lines}\n"
        "supervisor.supervise(sys.argv[1])\n",
        encoding="utf-8",
    )
    return str(file)


def changed_isolation(folder: Path, **values: str) -> str:
    """Lines for it: the isolation has other constants."""
    text = (Path(conductor.limited.__file__).parent / "isolation.py").read_text(encoding="utf-8")
    for name, value in values.items():
        before, _, after = text.partition(f"\n{name} = ")
        assert after, name
        text = f"{before}\n{name} = {value}\n{after.partition(chr(10))[2]}"
    file = folder / "isolation.py"
    file.write_text(text, encoding="utf-8")
    return f"supervisor.ISOLATION = {str(file)!r}\n"
