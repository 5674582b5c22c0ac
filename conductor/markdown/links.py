"""Admits the addresses that a model may link to, and shows where a link leads."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ALLOWED = re.compile(r"(?:https?://|mailto:)[!-~]+\Z", re.IGNORECASE)
"""The whole address is of visible ASCII letters: the parser has encoded all others."""

_LONGEST = 2_000

BARE = re.compile(r"https?://[^\s<>\"'`\\^{|}]{1,2000}", re.IGNORECASE)
"""An address in the middle of a text."""

_LONGEST_LABEL = 60


def is_linkable(address: str) -> bool:
    """Whether it is of the web or of mail; all other schemes, and addresses without one, stay text."""
    if len(address) > _LONGEST or not _ALLOWED.match(address):
        return False
    try:
        split = urlsplit(address)
        return split.scheme.lower() == "mailto" or bool(split.hostname)
    except ValueError:
        return False


def without_end(address: str) -> str:
    """A bare address without what belongs to the sentence around it."""
    while address:
        last = address[-1]
        if last in ".,;:!?*_~" or (last in ")]" and address.count("(["[last == "]"]) < address.count(last)):
            address = address[:-1]
        else:
            break
    return address


def target(address: str, text: str, *, whole: bool = False) -> str:
    """What to show of the address beside the link's `text`; "" where the text is the address.

    `whole`: all of it and not only the host, as of a picture.
    """
    shown_text = _bare(text)
    if "@" not in urlsplit(address).netloc and shown_text in (_bare(address), _host(address)):
        return ""
    label = address if whole else _host(address)
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _host(address: str) -> str:
    split = urlsplit(address)
    return split.path if split.scheme.lower() == "mailto" else (split.hostname or "")


def _bare(address: str) -> str:
    return re.sub(r"^(?:https?://|mailto:)", "", address.strip(), flags=re.IGNORECASE).rstrip("/")
