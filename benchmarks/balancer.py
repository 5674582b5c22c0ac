"""nginx before processes of this machine, by the file that `deploy/` has for it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_SHIPPED = Path(__file__).resolve().parent.parent / "deploy" / "nginx.conf"
_PORTS = ("8501", "8502", "8600")


def nginx_command(folder: Path, port: int, apps: Sequence[int], api: int) -> list[str]:
    """Runs nginx at this port, before two ports of the app and one of the API, with its files in `folder`.

    Its `requests` has a line for each request: the browser's cookie, who answered, and what was asked.
    """
    # A whole configuration around the shipped file, which has a certificate and addresses of its own.
    ports = dict(zip(_PORTS, [*apps, api], strict=True))
    own = _SHIPPED.read_text(encoding="utf-8")
    own = re.sub(r"(?<=server 127\.0\.0\.1:)\d+", lambda match: str(ports[match[0]]), own)
    own = re.sub(r" *ssl_certificate.*\n", "", own)
    own = own.replace("443 ssl", f"127.0.0.1:{port}").replace(" Secure;", "")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"""
{user}
daemon off;
pid {folder / "pid"};
events {{}}
http {{
    {temporary}
    log_format browser "$conductor_process $upstream_addr|$request_method $uri";
    access_log {folder / "requests"} browser;
    {own}
}}
""",
        encoding="utf-8",
    )
    return [NGINX or "nginx", "-e", str(folder / "errors"), "-c", str(configuration)]


@contextmanager
def balanced(folder: Path, apps: Sequence[str], api: str) -> Iterator[str]:
    """The address of nginx before these addresses, while the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ports = [urlsplit(url).port or 0 for url in (*apps, api)]
    with subprocess.Popen(nginx_command(folder, port, ports[:-1], ports[-1])) as nginx:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert nginx.poll() is None, "nginx has ended"
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            nginx.terminate()
