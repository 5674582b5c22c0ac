"""A model is downloaded from a hub whole and as it is listed, whatever breaks off on the way."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conductor.errors import PoolError
from conductor.workers.discovery.offers import with_model_file
from conductor.workers.embedded import model_hub
from conductor.workers.embedded.model_hub import HUB_MODELS, HubModel, download, hub_model
from conductor.workers.pool.toml_editor import PoolDocument
from tests.support.endpoints.fake_hub import CONTENT, FakeHub, serving_hub

pytestmark = pytest.mark.slow

MODEL = HubModel("tiny", "someone/tiny", "tiny.gguf", "1 MB, Apache-2.0")


@pytest.fixture
def faking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeHub]]:
    """Serves a hub with these faults."""
    monkeypatch.setattr(model_hub, "PAUSE_SECONDS", 0.0)
    opened = []

    def begin(**faults: object) -> FakeHub:
        opened.append(serving_hub(FakeHub(MODEL.file, **faults)))
        served = opened[-1].__enter__()
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        return served

    yield begin
    for each in opened:
        each.__exit__(None, None, None)


def fetched(folder: Path) -> tuple[Path, list[int]]:
    """The file, and the numbers of bytes that were announced."""
    calls: list[int] = []
    return download(MODEL, folder, listen=lambda have, _: calls.append(have)), calls


def test_a_file_comes_whole_and_once(faking: Callable[..., FakeHub], tmp_path: Path) -> None:
    served = faking()
    path, calls = fetched(tmp_path / "models")
    assert (path, path.read_bytes()) == (tmp_path / "models" / "tiny.gguf", CONTENT)
    assert calls[-1] == len(CONTENT)
    assert [*path.parent.iterdir()] == [path], "no part is left"
    assert fetched(tmp_path / "models") == (path, [])
    assert served.ranges == [None], "a file that is there is not downloaded again"


@pytest.mark.parametrize("takes_ranges", [True, False], ids=["goes on", "begins again"])
def test_a_download_that_breaks_off_is_ended(
    faking: Callable[..., FakeHub], tmp_path: Path, takes_ranges: bool
) -> None:
    served = faking(breaks=300_000, times=2, takes_ranges=takes_ranges)
    path, _ = fetched(tmp_path)
    assert path.read_bytes() == CONTENT
    assert served.ranges[0] is None
    assert all(each and each.startswith("bytes=") for each in served.ranges[1:])


def test_what_an_earlier_call_left_is_gone_on_from(faking: Callable[..., FakeHub], tmp_path: Path) -> None:
    broken = faking(breaks=0)
    with pytest.raises(PoolError, match=r"was not complete after 5 attempts .* it continues from there"):
        fetched(tmp_path)
    assert len(broken.ranges) == model_hub.ATTEMPTS
    (part,) = tmp_path.iterdir()
    part.write_bytes(CONTENT[:1_000])
    whole = faking()
    assert fetched(tmp_path)[0].read_bytes() == CONTENT
    assert whole.ranges == ["bytes=1000-"]


def test_a_part_that_is_too_long_is_begun_again(faking: Callable[..., FakeHub], tmp_path: Path) -> None:
    faking(breaks=0)
    with pytest.raises(PoolError):
        fetched(tmp_path)
    (part,) = tmp_path.iterdir()
    part.write_bytes(CONTENT + b"more")
    whole = faking()
    assert fetched(tmp_path)[0].read_bytes() == CONTENT
    assert whole.ranges == [None]


def test_another_content_is_deleted(faking: Callable[..., FakeHub], tmp_path: Path) -> None:
    faking(sent=CONTENT[::-1])
    with pytest.raises(PoolError, match=r"tiny\.gguf is not what the hub lists \(another SHA-256\)"):
        fetched(tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_disk_without_room_is_named_before_and_while_it_fills(
    faking: Callable[..., FakeHub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = faking()

    def fill(_have: int, _size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(PoolError, match=r"tiny\.gguf was not written: the disk is full\. Make room"):
        download(MODEL, tmp_path, listen=fill)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(PoolError, match="the disk is full"):
        fetched(tmp_path)
    assert len(served.ranges) == 1, "nothing is requested without room"


def test_a_hub_that_does_not_have_it_is_named(
    faking: Callable[..., FakeHub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faking()
    other = MODEL._replace(file="gone.gguf")
    with pytest.raises(PoolError, match=r"someone/tiny has no file gone\.gguf any more"):
        download(other, tmp_path, listen=lambda *_: None)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(PoolError, match=r"http://127\.0\.0\.1:9 does not list someone/tiny .* a network"):
        fetched(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(PoolError, match=r"through the proxy 127\.0\.0\.1:9 of HTTP_PROXY"):
        fetched(tmp_path)
    monkeypatch.setenv("HTTP_PROXY", "nosuch://127.0.0.1:9")
    with pytest.raises(PoolError, match="HTTP_PROXY names no proxy"):
        fetched(tmp_path)


def test_a_model_is_found_by_its_name() -> None:
    assert hub_model("Qwen3-0.6B") is HUB_MODELS[0]
    with pytest.raises(PoolError, match=r"no model 'x' to download; there are qwen3-0\.6b, qwen2\.5-1\.5b"):
        hub_model("x")


def test_a_new_pool_file_gets_the_model_as_worker_and_conductor(tmp_path: Path) -> None:
    file = tmp_path / "data" / "tiny.gguf"
    file.parent.mkdir()
    file.write_bytes(b"GGUF")
    document, done = with_model_file(PoolDocument.opened(tmp_path / "pool.toml"), "tiny", file)
    assert done == "Added tiny, which also writes the workflows."
    assert document.workers[0]["model"] == str(Path("data", "tiny.gguf"))
    pool = document.pool()
    assert pool["tiny"].card.model == "tiny"
    assert pool.conductor is not None
    again, done = with_model_file(document, "tiny", file)
    assert (again, done) == (document, "The pool has data/tiny.gguf already.")
    other, done = with_model_file(document, "tiny", tmp_path / "other.gguf")
    assert (len(other.workers), done) == (2, "Added tiny-2.")
