"""A folder that looks to Python like an installed vLLM, whose server is `fake_vllm_server.py`."""

from __future__ import annotations

import socket
from pathlib import Path

SERVER = "vllm.entrypoints.launchers.api_server.entry"
OLDER_SERVER = "vllm.entrypoints.openai.api_server"


def fake_vllm(
    folder: Path, *, version: str = "0.32.0", distribution: str = "vllm", server: str | None = SERVER
) -> str:
    """Install it in `folder`, which is then to stand in PYTHONPATH; the folder as text."""
    script = Path(__file__).with_name("fake_vllm_server.py").read_text(encoding="utf-8")
    package = folder / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    if server is not None:
        module = folder.joinpath(*server.split(".")).with_suffix(".py")
        module.parent.mkdir(parents=True)
        module.write_text(script, encoding="utf-8")
    about = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", encoding="utf-8"
    )
    return str(folder)


def free_port() -> int:
    """A port of the loopback address without a listener."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
