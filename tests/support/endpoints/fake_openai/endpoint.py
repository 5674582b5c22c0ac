"""The endpoint without its socket: from a request to the script of its response, by settings and faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .answers import REASONING, REASONING_FIELD, CannotAnswerError, answer
from .faults import (
    CHANGES,
    DEFAULTS,
    FAULTS,
    REFUSALS,
    SPOILS,
    Call,
    Head,
    Script,
    encoded,
    refused,
    streamed,
    wrong_key,
)
from .log import Entry, Log

_FAULT = "fault:"
_MODELS = ("simulated", f"{REASONING}simulated", f"{REASONING_FIELD}simulated")


@dataclass(kw_only=True)
class FakeOpenAI:
    """The settings of the endpoint, and what it remembers. `texts` are its next answers, one after another:
    texts, or lists of deltas that call tools or have thoughts.

    `models` are the names it answers to beside `fault:...`; without any it answers to every name. Without
    `tokens_per_second` everything is sent at once. With a `key`, requests without it are refused. The list of
    models has `owned_by`, which is "vllm" for vLLM, and with `lists_faults` a name for each fault.
    """

    models: Sequence[str] = ()
    tokens_per_second: float | None = None
    key: str | None = field(default=None, repr=False)
    owned_by: str = "simulated"
    lists_faults: bool = True
    texts: list[str | Sequence[Mapping[str, Any]]] = field(default_factory=list)
    log: Log = field(default_factory=Log)
    _refusals: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)

    def forget(self) -> None:
        """Clears the log and the counts."""
        self.log.clear()
        self.texts.clear()
        self._refusals.clear()

    def respond(self, path: str, headers: Mapping[str, str], content: bytes) -> tuple[Entry, Script]:
        """The script of the response to a request, whose entry is in the log."""
        authorization = headers.get("authorization")
        body = json.loads(content) if content else {}
        entry = Entry(path, authorization is not None, body or None)
        self.log.add(entry)
        refusal = self._wrong_key(authorization)
        if refusal is not None:
            return entry, refusal
        match path.partition("?")[0]:
            case "/v1/models":
                return entry, self._listed()
            case "/v1/chat/completions":
                return entry, self._completion(body, authorization)
            case "/v1/embeddings":
                return entry, self._embeddings(body, authorization)
        return entry, refused(404, f"There is no {path}.")

    def _wrong_key(self, authorization: str | None) -> Script | None:
        if self.key is None or authorization == f"Bearer {self.key}":
            return None
        return refused(401, "You did not provide an API key.") if authorization is None else wrong_key()

    def _listed(self) -> Script:
        faults = (f"{_FAULT}{name}" for name in FAULTS) if self.lists_faults else ()
        names = (*(self.models or _MODELS), *faults)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": self.owned_by} for name in names]
        return (Head(), encoded({"object": "list", "data": models}))

    def _completion(self, body: dict[str, Any], authorization: str | None) -> Script:
        """A refusal, else the answer as the faults leave it."""
        model = body["model"]
        if self.models and model not in self.models and not model.startswith(_FAULT):
            return refused(404, f"The model '{model}' does not exist.", code="model_not_found")
        calls = list(self._calls(body, authorization))
        for name, call in calls:
            if name in REFUSALS and (script := REFUSALS[name](call)) is not None:
                self._refusals[name, str(body)] += 1
                return script
        try:
            answered = answer(body, text=self.texts.pop(0) if self.texts else None)
        except CannotAnswerError as error:
            return refused(400, str(error))
        for name, call in calls:
            answered = CHANGES[name](answered, call) if name in CHANGES else answered
        script = tuple(streamed(answered, tokens_per_second=self.tokens_per_second))
        for name, call in calls:
            script = SPOILS[name](script, call) if name in SPOILS else script
        return script

    def _embeddings(self, body: dict[str, Any], authorization: str | None) -> Script:
        """How often each letter stands in each text, in the reverse order of the texts; or a refusal."""
        for name, call in self._calls(body, authorization):
            if name in REFUSALS and (script := REFUSALS[name](call)) is not None:
                self._refusals[name, str(body)] += 1
                return script
        texts: list[str] = body["input"]
        vectors = [[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        data = [{"object": "embedding", "index": at, "embedding": vectors[at]} for at in range(len(texts))]
        used = {"prompt_tokens": sum(len(text.split()) for text in texts), "total_tokens": 0}
        return (Head(), encoded({"object": "list", "data": data[::-1], "usage": used}))

    def _calls(self, body: dict[str, Any], authorization: str | None) -> Iterator[tuple[str, Call]]:
        """The faults that the model's name contains."""
        model: str = body["model"]
        for fault in model.removeprefix(_FAULT).split("+") if model.startswith(_FAULT) else ():
            name, _, value = fault.partition("=")
            assert name in FAULTS, f"there is no fault {name!r}"
            refused_before = self._refusals[name, str(body)]
            yield name, Call(body, value or DEFAULTS.get(name, ""), refused_before, authorization)
