"""The tiny random model: built where it is not yet there, by the interpreter that has vLLM.

Knows where it lies and when it is whole; what it is made of is build_tiny's.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conductor.errors import ServeError
from conductor.vllm.installed import script_environment

_BUILDER = Path(__file__).with_name("build_tiny.py")
_NEEDED = ("config.json", "tokenizer.json", "model.safetensors")


@contextmanager
def tiny_model(python: str, folder: Path | None = None) -> Iterator[Path]:
    """The folder of a tiny checkpoint, built by `python` (it needs what vLLM needs) unless it is there.

    Without a folder, a temporary one that is gone afterwards. Raises `ServeError` when it cannot be built,
    or when the folder holds something else.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="tiny-qwen2-") as temporary:
            _build(python, Path(temporary))
            yield Path(temporary)
        return
    if not all((folder / name).is_file() for name in _NEEDED):
        _build_whole(python, folder)
    yield folder


def _build_whole(python: str, folder: Path) -> None:
    """Build beside the folder and move it there, so that half a checkpoint never passes for one."""
    try:
        if folder.exists() and any(folder.iterdir()):
            raise ServeError(f"{folder} holds something that is no model; name a new or empty folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            made = Path(temporary) / "model"
            made.mkdir()
            _build(python, made)
            made.rename(folder)
    except OSError as error:
        raise ServeError(f"{folder} cannot be written: {error.strerror}.") from error


def _build(python: str, folder: Path) -> None:
    environment = {**script_environment(), "HF_HUB_OFFLINE": "1"}
    built = subprocess.run(  # noqa: S603 - the interpreter that the user named, and our own file
        [python, str(_BUILDER), str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    if built.returncode != 0:
        said = built.stderr.strip().splitlines()
        why = said[-1] if said else f"exit code {built.returncode}"
        raise ServeError(f"{python} could not build the tiny model: {why}")
