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


def nginx_command(folder: Path, port: int, apps: Sequence[int], apis: Sequence[int]) -> list[str]:
    """Runs nginx at this port, before these ports of the app and of the API, with its files in `folder`.

    Its `requests` has a line for each request: the browser's cookie, when it ended, its seconds, its status,
    who answered, and what was asked.
    """
    # A whole configuration around the shipped file, which has a certificate and addresses of its own.
    own = _SHIPPED.read_text(encoding="utf-8")
    own = _before(_before(own, "conductor_app", apps), "conductor_api", apis)
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
    log_format browser "$conductor_process $msec $request_time $status $upstream_addr|$request_method $uri";
    access_log {folder / "requests"} browser;
    {own}
}}
""",
        encoding="utf-8",
    )
    return [NGINX or "nginx", "-e", str(folder / "errors"), "-c", str(configuration)]


def _before(configuration: str, upstream: str, ports: Sequence[int]) -> str:
    """The configuration with these ports as the servers of `upstream`, with the options of its first one."""
    server = rf"(upstream {upstream} {{\n.*\n)( *server 127\.0\.0\.1:)\d+(.*\n)(?: *server .*\n)*"
    return re.sub(
        server, lambda own: own[1] + "".join(f"{own[2]}{port}{own[3]}" for port in ports), configuration
    )


@contextmanager
def balanced(folder: Path, apps: Sequence[str], apis: Sequence[str]) -> Iterator[str]:
    """The address of nginx before these addresses, while the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ports = [[urlsplit(url).port or 0 for url in urls] for urls in (apps, apis)]
    with subprocess.Popen(nginx_command(folder, port, *ports)) as nginx:
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
