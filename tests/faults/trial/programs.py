"""Programs that read chat completions as streams, or begin responses in the background and follow them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random

import openai

from conductor.workflow.file import write_plan
from tests.faults.trial.outcomes import PATIENCE, Outcomes, two_steps


@dataclass(frozen=True)
class _Turn:
    """A client with the name and the workflow of its next request."""

    client: openai.AsyncOpenAI
    tag: str
    body: dict[str, object]


@dataclass
class Programs:
    """As many as call `stream` and `background`, until the clock shows `ends`."""

    url: str
    token: str
    ends: float
    outcomes: Outcomes
    rng: Random

    async def stream(self, number: int) -> None:
        """Read chat completions, one after another."""
        async for turn in self._turns(f"s{number}"):
            began, text, reason = time.time(), "", None
            try:
                async for chunk in await turn.client.chat.completions.create(
                    model="conductor",
                    messages=[{"role": "user", "content": f"Question {turn.tag}?"}],
                    stream=True,
                    extra_body=turn.body,
                ):
                    self.outcomes.chats.add(turn.tag)
                    for choice in chunk.choices:
                        text += choice.delta.content or ""
                        reason = choice.finish_reason or reason
                if reason != "stop":
                    raise openai.OpenAIError(f"the end is {reason}")
                self.outcomes.counts["streams whole"] += 1
                self.outcomes.answers[f"{turn.tag}-1"] = text
            except openai.OpenAIError as error:
                self.outcomes.broke(began, f"stream {turn.tag}: {error!r}")

    async def background(self, number: int) -> None:
        """Begin responses, with a stream or not, and follow each to its end."""
        async for turn in self._turns(f"b{number}"):
            began, create = time.time(), turn.client.responses.create
            question = f"Question {turn.tag}?"
            try:
                if self.rng.random() < 0.5:
                    created = await create(
                        model="conductor", input=question, background=True, extra_body=turn.body
                    )
                    id = created.id
                else:
                    events = await create(
                        model="conductor", input=question, background=True, stream=True, extra_body=turn.body
                    )
                    first = await anext(events)
                    assert first.type == "response.created"
                    id = first.response.id
                    await events.close()
            except (openai.OpenAIError, StopAsyncIteration) as error:
                self.outcomes.broke(began, f"post {turn.tag}: {error!r}")
            else:
                self.outcomes.runs[id.removeprefix("resp_")] = f"{turn.tag}-1"
                await self._follow(turn.client, id, f"{turn.tag}-1")

    async def _turns(self, name: str) -> AsyncIterator[_Turn]:
        async with openai.AsyncOpenAI(
            base_url=f"{self.url}/v1",
            api_key=self.token,
            max_retries=0,
            timeout=PATIENCE,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
        ) as client:
            number = 0
            while time.time() < self.ends:
                number += 1
                tag = f"{name}-{number}"
                plan = write_plan(two_steps(tag), query="q", origin="import", workers=("alpha",), label=None)
                yield _Turn(client, tag, {"conductor": {"workflow": json.loads(plan)}})
                await asyncio.sleep(self.rng.uniform(2, 8))

    async def _follow(self, client: openai.AsyncOpenAI, id: str, task: str) -> None:
        """Read a response on after each break, from its beginning if its server was lost."""
        limit, last, text = time.monotonic() + PATIENCE, -1, ""
        while time.monotonic() < limit:
            began = time.time()
            # Sometimes the reader leaves, and goes on from what it had.
            leaves = self.rng.random() < 0.3
            after = openai.omit if last < 0 else last
            try:
                events = await client.responses.retrieve(id, stream=True, starting_after=after)
                async for event in events:
                    last += 1
                    if event.type != "error" and event.sequence_number != last:
                        self.outcomes.faults.append(f"{id}: event {event} is to be {last}")
                    if event.type == "response.output_text.delta":
                        text += event.delta
                    elif event.type == "response.completed":
                        if event.response.output_text != text:
                            self.outcomes.faults.append(f"{id}: streamed {text!r} of {event}")
                        self.outcomes.answers[task] = text
                        self.outcomes.counts["responses whole"] += 1
                        return
                    elif event.type in ("error", "response.failed"):
                        if "run_interrupted" not in event.to_json():
                            self.outcomes.faults.append(f"{id}: {event}")
                        self.outcomes.counts["follows interrupted"] += 1
                        last, text = -1, ""
                        break
                    if leaves and last > 6:
                        self.outcomes.counts["follows left"] += 1
                        break
                await events.close()
            except openai.OpenAIError as error:
                self.outcomes.broke(began, f"follow {id}: {error!r}")
                # The process that wrote it may have been killed as well.
                last, text = -1, ""
            await asyncio.sleep(0.3)
        self.outcomes.faults.append(f"{id}: no end in {PATIENCE:.0f} s")
