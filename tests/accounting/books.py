"""The store, the workbench and the API over the reporting upstream, the same for all cases of a test; and a
case that was played in them, with every answer to it.

Knows how a case comes through its door; compares nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, cast

import httpx
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.routing import Mount

from conductor.errors import ConductorError
from conductor.runs.scope import FORCE, RunScope
from conductor.workflow.file import write_plan
from storage import SessionStore
from storage.api_token import new_secret
from storage.limits import Spent
from studio.api.app import api
from studio.session_file import import_sessions, write_sessions
from studio.telemetry.metrics import Metrics
from studio.workbench import Workbench
from tests.accounting.accounting_cases import NEST, Act, Case
from tests.accounting.first_run import begin, bench_over, session_of
from tests.accounting.reporting_upstream import PLAN, ReportingUpstream, Sent
from tests.support.endpoints.fake_openai import Served
from tests.support.processes.api_server import ObservedAuthenticator
from tests.support.processes.served_app import serving
from tests.support.runs.waiting import until


@dataclass(frozen=True)
class Counters:
    """What grows with each case: the counters of `/metrics`, and what the API token has spent."""

    tokens: float
    cost: float
    unknown_tokens: float
    unknown_costs: float
    bounded_costs: float
    spent: Spent


@dataclass(frozen=True)
class Answered:
    """A body of the API, and the requests that it is about: `own` of its newest run, `requests` of all."""

    body: Mapping[str, Any]
    requests: Sequence[Sent]
    own: Sequence[Sent]
    shows_usage: bool
    is_resumed: bool
    is_broken_off: bool


@dataclass
class Played:
    """A case that is over, with `session` None if it was refused or is not stored. `posts` are the requests
    of the API for an answer.
    """

    case: Case
    moment: float
    before: Counters
    session: str | None = None
    posts: int = 0
    is_broken_off: bool = False
    answers: list[Answered] = field(default_factory=list)
    sent: Sequence[Sent] = ()
    after: Counters | None = None

    @property
    def of_runs(self) -> Sequence[Sent] | None:
        """The requests of all steps, with what is inside of them; None if those of planning look alike."""
        has_nest = self.case.workflow is not None and NEST in self.case.workflow.workers()
        if has_nest:
            plans = any(act in ("another round", "alternatives") for act, _ in self.case.acts)
            return None if plans else self.sent
        return [each for each in self.sent if each.mark != PLAN]

    def __str__(self) -> str:
        lines = "\n".join(f"  {each}" for each in self.sent)
        return f"{self.case}\nThe upstream's log:\n{lines or '  nothing'}"


class Books:
    """`bench` is the workbench of all cases, `client` a client of its API."""

    def __init__(
        self,
        bench: Workbench,
        *,
        upstream: ReportingUpstream,
        metrics: Metrics,
        client: httpx.Client,
        token: str,
        busy: Callable[[], bool],
    ) -> None:
        self.bench, self.upstream, self.client = bench, upstream, client
        self._metrics, self._token, self._busy = metrics, token, busy

    @property
    def store(self) -> SessionStore:
        """The store of all cases."""
        return self.bench.store

    def counters(self) -> Counters:
        """The counters now."""
        families = text_string_to_metric_families(self._metrics.text().decode())
        samples = [sample for family in families for sample in family.samples]

        def total(name: str, **labels: str) -> float:
            return sum(
                sample.value
                for sample in samples
                if sample.name == f"conductor_{name}_total" and labels.items() <= sample.labels.items()
            )

        return Counters(
            tokens=total("tokens"),
            cost=total("cost_dollars"),
            unknown_tokens=total("calls_with_unknown", what="tokens"),
            unknown_costs=total("calls_with_unknown", what="cost"),
            bounded_costs=total("calls_with_unknown", what="cost_at_most"),
            spent=self.store.tokens.spent(self._token),
        )

    def played(self, case: Case) -> Played:
        """Play a case to its end."""
        self.upstream.begin(case.script)
        # Calls that are stopped at a limit of tokens or dollars may have sent their report by then.
        is_broken_off = bool({"tokens", "cost"} & case.budget.keys())
        played = Played(case, time.time(), self.counters(), is_broken_off=is_broken_off)
        if case.door == "workbench":
            self._work(played)
        else:
            self._ask(played)
        until(lambda: not self._busy(), what="nothing goes on any more", every=0.001)
        until(lambda: all(each.outcome for each in self.upstream.sent), every=0.001)
        played.sent, played.after = self.upstream.sent, self.counters()
        return played

    def copied(self, session: str) -> tuple[str, str | None]:
        """An import of the session's file, and a fork of its newest workflow, if it has one."""
        file = BytesIO(b"".join(write_sessions(self.store, [session])))
        (imported,) = import_sessions(self.store, file)
        head = self.store.revisions.head(session)
        fork = None if head is None else self.store.sessions.fork(session, head.id)
        return imported, None if fork is None else fork.id

    # -- by the API ----------------------------------------------------------------------------------

    def _ask(self, played: Played) -> None:
        case = played.case
        path = "chat/completions" if case.door == "chat" else "responses"
        body = self._post(played, path, _body_of(case))
        if case.door == "chat" or not case.is_stored:
            self._note_answer(played, body, since=0)
            return
        if played.session is None:
            return
        self._follow(played, since=0)
        for _ in range(case.resumes):
            since = len(self.upstream.sent)
            if not self._resume(played):
                break
            self._follow(played, since=since)

    def _post(self, played: Played, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        response = self.client.post(path, json=body)
        played.posts += 1
        session = response.headers.get("x-request-id")
        if played.case.is_stored:
            newest = self.store.sessions.listed(limit=1)
            is_own = bool(newest) and newest[0].updated_at >= played.moment
            played.session = session or (newest[0].id if is_own else None)
        if not body.get("stream") or not response.headers["content-type"].startswith("text/event-stream"):
            return response.json()
        return _last_of(response.text)

    def _note_answer(self, played: Played, body: Mapping[str, Any], *, since: int) -> None:
        case, sent = played.case, self.upstream.sent
        shows_usage = not case.streams or case.includes_usage or case.door != "chat"
        is_resumed = since > 0
        played.answers.append(
            Answered(body, sent, sent[since:], shows_usage, is_resumed, played.is_broken_off)
        )

    def _follow(self, played: Played, *, since: int) -> None:
        """Read the response at its end; where it is to be stopped and waits for that, stop it."""
        id = f"responses/resp_{played.session}"

        def read() -> Mapping[str, Any]:
            return self.client.get(id).json()

        def goes_on() -> bool:
            return read().get("status") == "in_progress"

        session = str(played.session)
        if played.case.door == "background" or since:
            until(lambda: self.upstream.stalls or not self.bench.activities.busy(session), every=0.001)
            if self.upstream.stalls:
                played.is_broken_off = True
                self.client.post(f"{id}/cancel")
            until(lambda: not goes_on(), every=0.002)
        self._note_answer(played, read(), since=since)

    def _resume(self, played: Played) -> bool:
        response = self.client.post(f"responses/resp_{played.session}/resume")
        played.posts += response.status_code == 200
        return response.status_code == 200

    # -- by the workbench ----------------------------------------------------------------------------

    def _work(self, played: Played) -> None:
        case, bench = played.case, self.bench
        session = played.session = session_of(bench, case)
        self._do(played, lambda: begin(bench, case, session))
        for act, step in case.acts:
            self._do(played, self._act(session, act, step))

    def _act(self, session: str, act: Act, step: int) -> Callable[[], object]:
        bench = self.bench
        starts: Mapping[Act, Callable[[], object]] = {
            "continue": lambda: bench.running.start(session),
            "all again": lambda: bench.running.start(session, FORCE),
            "a step again": lambda: bench.running.start(session, RunScope(kind="only", step=step)),
            "from a step": lambda: bench.running.start(session, RunScope(kind="from", step=step)),
            "another round": lambda: bench.planning.begin_round(session),
            "alternatives": lambda: bench.planning.begin_alternatives(session, 2),
        }
        return starts[act]

    def _do(self, played: Played, start: Callable[[], object]) -> None:
        bench, session = self.bench, str(played.session)
        # What cannot be done in this session is refused.
        with suppress(ConductorError):
            start()
        until(lambda: self.upstream.stalls or not bench.activities.busy(session), every=0.002)
        if self.upstream.stalls:
            played.is_broken_off = True
            bench.running.stop(session)
        with suppress(ConductorError, CancelledError):
            bench.activities.wait(session)
        until(lambda: all(each.outcome for each in self.upstream.sent), every=0.001)


JSON = {"type": "json_object"}


def _body_of(case: Case) -> dict[str, Any]:
    steering: dict[str, Any] = {}
    if case.budget:
        steering["budget"] = dict(case.budget)
    if case.workflow is not None:
        text = write_plan(case.workflow, query=None, origin="human", workers=(), label=None)
        steering["workflow"] = json.loads(text)
    elif case.rounds > 1:
        steering["rounds"] = case.rounds
    body: dict[str, Any] = {"model": case.model, **({"conductor": steering} if steering else {})}
    if case.streams:
        body["stream"] = True
    if not case.is_stored:
        body["store"] = False
    if case.door != "chat":
        background = {"background": True} if case.door == "background" else {}
        form = {"text": {"format": JSON}} if case.asks_json else {}
        return {**body, "input": case.question, **background, **form}
    if case.streams and case.includes_usage:
        body["stream_options"] = {"include_usage": True}
    if case.asks_json:
        body["response_format"] = JSON
    several = {"n": case.answers} if case.answers > 1 else {}
    return {**body, "messages": [{"role": "user", "content": case.question}], **several}


def _last_of(stream: str) -> Mapping[str, Any]:
    """What a stream reports at its end: of a chat `conductor` and `usage`, the response of a response."""
    body: dict[str, Any] = {}
    for line in stream.splitlines():
        if not line.startswith("data: {"):
            continue
        shape = json.loads(line.removeprefix("data: "))
        if "response" in shape:
            body = shape["response"]
        else:
            named = {name: shape[name] for name in ("conductor", "usage", "error") if shape.get(name)}
            if "event" not in named.get("conductor", {}):
                body |= named
    return body


@contextmanager
def opened(url: str, served: Served) -> Iterator[Books]:
    """The books over the store at this URL and a `ReportingUpstream`, until the block is left."""
    upstream, metrics = cast(ReportingUpstream, served.fake), Metrics()
    bench = bench_over(url, served.base_url, metrics)
    try:
        token, secret = bench.store.tokens.create(f"accounts of {time.time()}")
        auth = ObservedAuthenticator(lambda: bench.store.tokens, machine=new_secret().text)
        app = api(lambda: bench, auth, metrics=metrics)
        headers = {"authorization": f"Bearer {secret}"}
        with (
            serving(Starlette(routes=[Mount("/v1", app)])) as port,
            httpx.Client(base_url=f"http://127.0.0.1:{port}/v1", headers=headers, timeout=60) as client,
        ):
            runs = app.state.runs
            yield Books(
                bench,
                upstream=upstream,
                metrics=metrics,
                client=client,
                token=token.id,
                busy=lambda: bool(runs.busy),
            )
    finally:
        bench.close()
