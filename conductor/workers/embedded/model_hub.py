"""Better models for this machine, from the Hugging Face hub: what there is, and a download that can go on.

Knows the hub's API (huggingface.co/docs/hub/api) and files. Size and SHA-256 of a file are those that the hub
lists at the time of the download; a file whose content is another one is not used.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from conductor.errors import ConductorError, PoolError
from conductor.workers.endpoint.transport.route import client_options, route_to, trusted

HUB = "https://huggingface.co"
"""Another address, such as a mirror's, stands in `HF_ENDPOINT`, as for the hub's own client."""

ATTEMPTS = 5
"""How often in a row a download may break off without a new byte, before it is given up."""

PAUSE_SECONDS = 2.0

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_PIECE = 1 << 18


class HubModel(NamedTuple):
    """A model that the hub has as a GGUF file: `about` has its size and its licence, in words."""

    name: str
    repository: str
    file: str
    about: str


HUB_MODELS = (
    HubModel("qwen3-0.6b", "Qwen/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf", "0.6 GB, Apache-2.0"),
    HubModel(
        "qwen2.5-1.5b",
        "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        "1.1 GB, Apache-2.0",
    ),
)
"""Smallest first."""

Listen = Callable[[int, int], None]
"""Takes the bytes that are there and those of the whole file."""


class _Lfs(BaseModel):
    oid: str
    size: int


class _HubFile(BaseModel):
    path: str
    lfs: _Lfs | None = None


_LISTING = TypeAdapter(list[_HubFile])


def hub_model(name: str) -> HubModel:
    """The model of that name. Raises `PoolError`."""
    for model in HUB_MODELS:
        if model.name == name.lower():
            return model
    raise PoolError(
        f"There is no model {name!r} to download; there are {', '.join(m.name for m in HUB_MODELS)}."
    )


def hub_address() -> str:
    """Where the hub is: `HF_ENDPOINT`, else its own address."""
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def download(model: HubModel, folder: Path, *, listen: Listen) -> Path:
    """The model's file in `folder`, downloaded unless it is there; what an earlier call left is gone on from.

    Raises `PoolError` where the hub cannot be reached or does not have the file, where the disk is full, and
    where what came is not what the hub lists.
    """
    base, path = hub_address(), folder / model.file
    # A redirect may lead from http to https.
    options = {**client_options(httpx.URL(base)), "verify": trusted()}
    with httpx.Client(timeout=_TIMEOUT, follow_redirects=True, **options) as client:
        try:
            lfs = _listed(client, base, model)
            if path.exists() and path.stat().st_size == lfs.size and _sum(path) == lfs.oid:
                return path
            folder.mkdir(parents=True, exist_ok=True)
            # Another content, as of a new version, is another part.
            part = folder / f"{model.file}.{lfs.oid[:12]}.part"
            _check_room(part, lfs.size)
            _fill(client, f"{base}/{model.repository}/resolve/main/{model.file}", part, lfs.size, listen)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "the disk is full" if full else error.strerror or str(error)
            raise PoolError(f"{model.file} was not written: {why}. Make room, and begin again.") from error
    if _sum(part) != lfs.oid:
        part.unlink()
        raise PoolError(
            f"{model.file} is not what the hub lists (another SHA-256), and was deleted. Download it again; "
            "if that happens again, something between here and the hub changes files."
        )
    part.replace(path)
    return path


def _listed(client: httpx.Client, base: str, model: HubModel) -> _Lfs:
    """Size and SHA-256 of the file, as the hub lists them."""
    url = f"{base}/api/models/{model.repository}/tree/main"
    try:
        answer = client.get(url).raise_for_status()
        entries = _LISTING.validate_json(answer.content)
    except (httpx.HTTPError, ValidationError) as error:
        way = route_to(httpx.URL(base)).through
        raise PoolError(
            f"{base} does not list {model.repository} ({_why(error)}{way and ' through '}{way}). "
            "Is there a network (HTTPS_PROXY; HF_ENDPOINT for a mirror)?"
        ) from error
    pointer = next((entry.lfs for entry in entries if entry.path == model.file and entry.lfs), None)
    if pointer is None:
        raise PoolError(
            f"{model.repository} has no file {model.file} any more. Download another GGUF file by hand, and "
            "write its path as model of an embedded worker."
        )
    return pointer


def _fill(client: httpx.Client, url: str, part: Path, size: int, listen: Listen) -> None:
    """Add what `part` lacks, in as many requests as it takes. Raises `PoolError` and `OSError`."""
    failures = 0
    while (have := _length(part)) != size:
        if have > size:
            part.unlink()
            have = 0
        why = "the connection ended early"
        try:
            _add(client, url, part, have=have, size=size, listen=listen)
        except httpx.HTTPError as error:
            why = _why(error)
        now = _length(part)
        failures = 0 if have < now <= size else failures + 1
        if failures == ATTEMPTS:
            raise PoolError(
                f"{part.stem} was not complete after {ATTEMPTS} attempts in a row ({why}); {now:,} of "
                f"{size:,} bytes are there. Try again later: it continues from there."
            )
        if now < size:
            time.sleep(PAUSE_SECONDS)


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _add(client: httpx.Client, url: str, part: Path, *, have: int, size: int, listen: Listen) -> None:
    """One request: appends to `part`, or writes all of it where the server sends the whole file."""
    # Compressed, a range would be one of other bytes.
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with client.stream("GET", url, headers=headers) as answer:
        answer.raise_for_status()
        begins = f"bytes {have}-"
        goes_on = answer.status_code == httpx.codes.PARTIAL_CONTENT and (
            answer.headers.get("content-range", "").startswith(begins)
        )
        have = have if goes_on else 0
        with part.open("ab" if goes_on else "wb") as file:
            for piece in answer.iter_raw(_PIECE):
                file.write(piece)
                have += len(piece)
                listen(have, size)
                if have > size:
                    return


def _check_room(part: Path, size: int) -> None:
    """Raises `OSError` where the disk has no room for the rest."""
    missing = size - _length(part)
    if shutil.disk_usage(part.parent).free < missing:
        raise OSError(errno.ENOSPC, f"{missing:,} bytes more are needed")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _why(error: Exception) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    return (
        "its answer cannot be read"
        if isinstance(error, ValidationError)
        else str(error) or type(error).__name__
    )


# -- downloads in threads of this process, which pages of all tabs follow --------------------------


@dataclass
class Download:
    """A download as it is now: the bytes that are there and those of the whole file (0: not known yet).

    `failure` is why it ended without a file, `file` what it ended with.
    """

    have: int = 0
    size: int = 0
    failure: str = ""
    file: Path | None = None

    @property
    def busy(self) -> bool:
        return not self.failure and self.file is None


class Downloads:
    """At most one download of a model at a time, the last one by the model's name."""

    def __init__(self) -> None:
        self._latest: dict[str, Download] = {}
        self._lock = threading.Lock()

    def begin(self, model: HubModel, folder: Path, *, then: Callable[[Path], object]) -> None:
        """Download `model` into `folder`, then do `then` with its file; returns at once."""
        with self._lock:
            latest = self._latest.get(model.name)
            if latest is not None and latest.busy:
                return
            state = self._latest[model.name] = Download()
        threading.Thread(target=_follow, args=(state, model, folder, then), daemon=True).start()

    def of(self, model: HubModel) -> Download | None:
        """The latest download of the model, None if none was begun."""
        return self._latest.get(model.name)

    @property
    def busy(self) -> bool:
        return any(state.busy for state in tuple(self._latest.values()))


def _follow(state: Download, model: HubModel, folder: Path, then: Callable[[Path], object]) -> None:
    def listen(have: int, size: int) -> None:
        state.have, state.size = have, size

    try:
        file = download(model, folder, listen=listen)
        then(file)
        state.file = file
    except ConductorError as error:
        state.failure = str(error)
    except Exception as error:  # noqa: BLE001 - nothing waits for the thread, so it is shown with the model
        state.failure = f"{model.name} was not downloaded ({type(error).__name__}: {error}). Try again."
