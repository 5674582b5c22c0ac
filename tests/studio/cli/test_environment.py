"""A time zone or a locale that the machine does not have is named by its variable."""

from __future__ import annotations

import locale
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.cli.environment import checks


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = locale.setlocale(locale.LC_CTYPE)
    with monkeypatch.context() as patch:
        for name in ("TZ", "LC_ALL", "LC_CTYPE", "LANG"):
            patch.delenv(name, raising=False)
        yield
    time.tzset()
    locale.setlocale(locale.LC_CTYPE, before)


# glibc's manual and POSIX have the forms; the others are what people write.
ZONES = {
    **dict.fromkeys(("", "UTC", "GMT", "Etc/UTC", "Zulu", "Europe/Berlin", ":Europe/Zurich"), True),
    **dict.fromkeys(("CET-1CEST", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT", "<+03>-3", "UTC+3"), True),
    **dict.fromkeys(("Africa/Abidjan", "/usr/share/zoneinfo/Asia/Tokyo"), True),
    **dict.fromkeys(
        ("Nowhere/City", "Berlin", "MESZ", ":/etc/nope", "../../etc/passwd", "UTC+25", "+01:00"), False
    ),
    **dict.fromkeys(
        (
            "Europe/Berlin\n",
            "Europe/Brelin",
            "Europe",
            "a" * 5_000,
            "\N{LATIN SMALL LETTER U WITH DIAERESIS}",
        ),
        False,
    ),
}


@pytest.mark.skipif(not Path("/usr/share/zoneinfo").is_dir(), reason="the system has no time zones")
@pytest.mark.parametrize(("value", "well"), ZONES.items())
def test_a_time_zone_is_known_or_named(monkeypatch: pytest.MonkeyPatch, value: str, well: bool) -> None:
    monkeypatch.setenv("TZ", value)
    time.tzset()
    check = checks()["time zone"]
    assert check[0] is well, check
    assert well or check[1].startswith("TZ ("), check


@pytest.mark.parametrize(
    ("variables", "well"),
    [
        ("", True),
        ("LC_ALL=C", True),
        ("LANG=C.UTF-8", True),
        ("LC_CTYPE=POSIX", True),
        ("LC_ALL=xx_YY.UTF-8", False),
        ("LANG=xx_YY", False),
        ("LC_CTYPE=UTF-8", False),  # a Mac's, over ssh
        ("LC_ALL=C LANG=xx_YY", True),
        ("LC_ALL=en_US.utf8.utf8", False),
        ("LC_ALL=de_DE@nowhere", False),
    ],
)
def test_a_locale_is_known_or_its_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variables: str, well: bool
) -> None:
    for each in variables.split():
        monkeypatch.setenv(*each.split("=", 1))
    check = checks()["locale"]
    assert check[0] is well, check
    assert well or check[1].startswith(f"{variables.partition('=')[0]} ("), check
