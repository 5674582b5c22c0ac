"""An endpoint with OpenAI's chat completions: its address, its model, and the limits of a call.

Values only; client.py calls it. No key is in here, only the name of the variable that holds it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import httpx
from pydantic import AfterValidator, ConfigDict, Field

from conductor.errors import PoolError
from conductor.text.bounded_value import within_bounds
from conductor.values.messages import Value
from conductor.workers.endpoint.transport.route import is_loopback
from conductor.workers.keys.hosts import KeyHost, is_confirmed, origin_of
from conductor.workers.keys.secret import SECRETS_FILE, find_secret, name_fault
from conductor.workers.keys.services import CALL, correct_base_url

MAX_CHARACTERS = 4_000_000
"""A longer answer is broken off, where the pool file sets no other limit."""

_SECRET_PARAMETER = re.compile(
    r"(^|[-_])(key|apikey|token|secret|password|passwd|pwd|sig|signature|auth|authorization|code)$", re.I
)
_SECRET_EXTRA = re.compile(
    r"(api[-_]?key|authorization|password|secret|access[-_]token|auth[-_]token)$", re.I
)
_OWN_KEYS = frozenset(
    "model messages stream stream_options n temperature max_tokens max_completion_tokens "
    "reasoning_effort".split()
)


def _checked_url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise ValueError("this is not a URL; write one like https://api.openai.com/v1") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("write a whole URL, like https://api.openai.com/v1")
    if url.userinfo:
        raise ValueError("a user and password do not belong into this file; name a variable in api_key_env")
    if any(_SECRET_PARAMETER.search(name) for name in url.params):
        raise ValueError("a key in the URL does not belong into this file; name a variable in api_key_env")
    if CALL.search(url.path):
        raise ValueError(f"this is the address of a call; write {correct_base_url(text.strip())}")
    return text.strip()


def _checked_variable(text: str) -> str:
    if (fault := name_fault(text)) is not None:
        raise ValueError(fault)
    return text


def _checked_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in extra:
        if name in _OWN_KEYS:
            raise ValueError(f"{name} cannot be set in extra; it has a key of its own or is set by the app")
        if _SECRET_EXTRA.search(name):
            raise ValueError(f"{name} looks like a key; name a variable in api_key_env")
    within_bounds(extra)
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            "every extra parameter must be a text, number, true or false, list or table"
        ) from None
    return extra


LeftOut = Literal[
    "system", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "frequency_penalty", "presence_penalty", "seed", "stop", "reasoning_effort", "parallel_tool_calls",
    "response_format",
]  # fmt: skip
"""What an endpoint may be asked without: `system` makes system messages the user's, without one of the names
of the limit of tokens it has the other, and a form is asked for in words."""

BaseUrl = Annotated[str, AfterValidator(_checked_url)]
KeyVariable = Annotated[str, AfterValidator(_checked_variable)]
Extra = Annotated[Mapping[str, Any], AfterValidator(_checked_extra)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Retries = Annotated[int, Field(ge=0, le=20)]
Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Patience(Value):
    """How many seconds to wait. `first_token` runs from the start of an attempt; `total` covers retries."""

    connect: Seconds = 10.0
    first_token: Seconds = 120.0
    between_tokens: Seconds = 60.0
    total: Seconds = 600.0


LOCAL_FIRST_TOKEN = 300.0
LOCAL_TOTAL = 1_200.0
LOCAL_CHARACTERS_A_SECOND = 10
"""How long a model on this machine is waited for, where no time was set: four prompts at once of 840 tokens
took two busy cores longer than the 120 seconds for a service.
"""


class Endpoint(Value):
    """One served model and how it is called.

    `concurrency` and `requests_per_minute` are limits (None: none), `retries` how often a failed request is
    repeated, `max_characters` where an answer is broken off, `extra` goes into the request's body,
    `leave_out` does not. `pool` is the whole path of the pool file that describes it, or "".
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    base_url: BaseUrl
    model: str = Field(min_length=1)
    api_key_env: KeyVariable | None = None
    patience: Patience = Patience()
    retries: Retries = 3
    concurrency: Count | None = None
    requests_per_minute: Rate | None = None
    max_characters: Count = MAX_CHARACTERS
    reasoning_effort: str | None = None
    extra: Extra = Field(default_factory=dict)
    leave_out: tuple[LeftOut, ...] = ()
    pool: str = Field(default="", exclude=True)

    @property
    def host(self) -> str:
        return httpx.URL(self.base_url).netloc.decode("ascii")

    @property
    def parameters(self) -> str:
        """What else decides its answers, as canonical text; "" when nothing does."""
        deciding: dict[str, Any] = {"extra": self.extra} if self.extra else {}
        if self.reasoning_effort is not None:
            deciding["reasoning_effort"] = self.reasoning_effort
        if self.leave_out:
            deciding["leave_out"] = sorted(self.leave_out)
        return json.dumps(deciding, sort_keys=True, ensure_ascii=False) if deciding else ""

    def url(self, path: str) -> httpx.URL:
        """The address of `path`, such as "chat/completions"; a query of the base URL stays."""
        base = httpx.URL(self.base_url)
        return base.copy_with(path=f"{base.path.rstrip('/')}/{path}")

    def for_prompt(self, characters: int) -> Endpoint:
        """The endpoint as it is waited for with a prompt of this length: longer where it is on this machine,
        and no time was set.
        """
        if not is_loopback(httpx.URL(self.base_url).host):
            return self
        reading = characters / LOCAL_CHARACTERS_A_SECOND
        longer = {"first_token": LOCAL_FIRST_TOKEN + reading, "total": LOCAL_TOTAL + reading}
        unset = {name: each for name, each in longer.items() if name not in self.patience.model_fields_set}
        return self.model_copy(update={"patience": self.patience.model_copy(update=unset)})

    async def reach(self) -> Endpoint:
        """The endpoint to which a request goes now: this one, or the one of a process that serves it."""
        return self

    @property
    def unconfirmed(self) -> KeyHost | None:
        """The key that is set and was not confirmed for this host, or None.

        Raises `PoolError` when the key cannot be looked up, or what was confirmed cannot be read.
        """
        if self.api_key_env is None or find_secret(self.api_key_env) is None:
            return None
        pair = KeyHost(self.api_key_env, origin_of(self.base_url), self.pool)
        return None if is_confirmed(pair) else pair

    def key(self) -> str | None:
        """The key, or None if the entry names none.

        Raises `PoolError` when the variable is not set, or was not confirmed for this host.
        """
        if self.api_key_env is None:
            return None
        key = find_secret(self.api_key_env)
        if key is None:
            raise PoolError(f"{self.api_key_env} is not set; export it, or write it into {SECRETS_FILE}.")
        if (pair := self.unconfirmed) is not None:
            raise PoolError(f"{pair.fault}.")
        return key

    def key_fault(self) -> str | None:
        """Why `key` raises an error now, or None if it returns."""
        try:
            self.key()
        except PoolError as error:
            return str(error)
        return None
