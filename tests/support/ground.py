"""What every test starts from: no settings from outside, an empty store to copy, a pool that calls no model.

A plugin of pytest's own, so that the process that only hands out the tests to others need not import it.
"""

from __future__ import annotations

import gc
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG

from conductor.files.project_folder import own_pool_file, own_store
from conductor.workers.pool import built_in
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from tests.support.processes.installed_package import install  # noqa: F401 - a fixture


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file of a store with nothing in it, which tests copy instead of creating one."""
    file = tmp_path_factory.mktemp("empty") / "conductor.db"
    SessionStore.open(f"sqlite:///{file}").close()
    content = file.read_bytes()
    yield file
    assert file.read_bytes() == content, "a test wrote into the empty store, which others copy"


@pytest.fixture
def no_collection() -> Iterator[None]:
    """A text that goes down to the limit of recursion is read without a collection there: what other tests
    left cannot be finalized so deep.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is called over TLS, and each client would read all certificates of the machine, in 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("certificates")
        # An empty one is a fault of the environment; this one's certificate is of no authority.
        (folder / "00000000.0").touch()
        patch.setenv("SSL_CERT_DIR", str(folder))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Nothing in the caller's home is ours to read; their variables are gone by now (`caller.py`). The home
    of the tests.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        # No test looks for servers at the usual ports, where the caller's own may listen.
        patch.setenv("CONDUCTOR_LOCAL_PORTS", "")
        # What a killed process leaves stays so, unless a test is about what goes on by itself.
        patch.setenv("CONDUCTOR_RESUME", "off")
        yield home


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A command that a test runs in this process sets what signals do, for the whole process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def no_own_files(no_settings: Path) -> Iterator[None]:
    """A test leaves nothing among the user's own files, such as which host may have a key."""
    yield
    for folder in (own_pool_file().parent, own_store().parent):
        assert folder.is_relative_to(no_settings), "a test never touches the caller's own files"
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def patient_clients() -> Iterator[None]:
    """A client that a test does not set otherwise waits for a minute, not for httpx's five seconds."""
    with pytest.MonkeyPatch.context() as patch:
        for wait in ("connect", "read", "write", "pool"):
            patch.setattr(DEFAULT_TIMEOUT_CONFIG, wait, 60.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_model() -> Iterator[None]:
    """The built-in set has a simulated worker in place of its language model, whose process no test needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(built_in, "embedded_workers", lambda: (SimulatedWorker(name="smol", tokens=6),))
        yield


@pytest.fixture
def pool() -> Pool:
    """Three simulated workers that answer at once, each in its own words."""
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=6) for name in ("alpha", "beta", "gamma")))
