"""The app's password and its sessions: signed, limited in time, ended by a log-out or another password."""

from __future__ import annotations

import pytest

from conductor.errors import ServeError
from studio.access.password import SESSION_SECONDS, Password

TEXT = "correct horse battery"


class Clock:
    """Unix seconds, set by hand."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    "attempt", ["", "correct horse batter", f"{TEXT} ", TEXT.upper(), "\udc80", "é" * 5000]
)
def test_only_the_password_is_right(attempt: str) -> None:
    assert Password(TEXT).is_right(TEXT)
    assert not Password(TEXT).is_right(attempt)


def test_a_password_may_have_any_letters() -> None:
    assert Password("пароль с пробелом").is_right("пароль с пробелом")


def test_a_short_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(ServeError, match="has 8 characters; choose a password of at least 12") as refused:
        Password("tr0ub4d0")
    assert "tr0ub4d0" not in str(refused.value)


@pytest.mark.slow
def test_a_session_lasts_its_time_and_outlives_a_restart(clock: Clock) -> None:
    session = Password(TEXT, clock=clock).open_session()
    assert TEXT not in session
    restarted = Password(TEXT, clock=clock)
    assert restarted.admits(session)
    clock.now += SESSION_SECONDS - 1
    assert restarted.admits(session)
    clock.now += 1
    assert not restarted.admits(session)


@pytest.mark.slow
def test_another_password_ends_all_sessions(clock: Clock) -> None:
    assert not Password("another password", clock=clock).admits(Password(TEXT, clock=clock).open_session())


@pytest.mark.slow
def test_a_session_that_is_closed_ends_alone(clock: Clock) -> None:
    password = Password(TEXT, clock=clock)
    mine, other = password.open_session(), password.open_session()
    password.close_session(mine)
    assert [password.admits(mine), password.admits(other)] == [False, True]
    clock.now += SESSION_SECONDS
    password.close_session(other)
    assert len(password._closed) == 1, "what has expired is not remembered"


@pytest.mark.slow
def test_no_session_can_be_made_up_or_changed(clock: Clock) -> None:
    password = Password(TEXT, clock=clock)
    end, nonce, signature = password.open_session().split(".")
    later = int(end) + 1
    for forged in (
        "",
        ".",
        "..",
        f"{later}.{nonce}.{signature}",
        f"{end}.{nonce}x.{signature}",
        f"{end}.{nonce}.{signature[:-1]}",
        f"{end}.{nonce}.{'0' * 64}",
        f"{end}.{nonce}.é",
        f"{end}.{nonce}",
        "x.y.z",
    ):
        assert not password.admits(forged), forged
