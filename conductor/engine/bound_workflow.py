"""The request of each step of a workflow, and its fingerprint, which is over that request. Pure.

Knows what a step may see. `prompt_layouts` lays requests out, `run` runs the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from conductor.engine.prompt_layouts import (
    PromptContext,
    behind,
    moa_messages,
    research_messages,
    tagged_parts,
    verbatim_messages,
)
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.messages import Message, Part, Request, RequestStyle, SeenResponse
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workers.wording.wording import OURS
from conductor.workflow.fingerprint import NONCE_LENGTH, fingerprint, outline_digits
from conductor.workflow.model import Step, Workflow

_MARK = "\ue000" * NONCE_LENGTH
"""Stands for the nonce until that is known, and is as long; Unicode leaves the character to private use."""


class StepCall(NamedTuple):
    """The call that a step is: the fingerprint of its output, and what its worker is sent."""

    address: str
    request: Request


@dataclass(frozen=True)
class BoundWorkflow:
    """A workflow with its query and its workers: all that decides the steps' requests, except the outputs.

    `cards` are the pool's by name, with stand-ins for those `uncalled`: of pinned steps, and not in the pool.
    `numbers` are the workers' in the research layout. `previous` holds the
    responses of the previous round's steps, `conversation` the messages before the query. `tool_version`
    returns what a tool server of this name reports now, as far as that is known. Methods take outputs by step
    position.
    """

    workflow: Workflow
    query: str
    cards: Mapping[str, WorkerCard]
    previous: tuple[SeenResponse, ...] = ()
    conversation: Conversation = NO_CONVERSATION
    numbers: Mapping[str, int] = field(default_factory=dict)
    uncalled: frozenset[str] = frozenset()
    tool_version: Callable[[str], str | None] = field(default=lambda _: None)
    _addresses: dict[int, tuple[object, str]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """By step its last fingerprint and what that was of: several ways to run one plan ask for the same."""

    @classmethod
    def of(
        cls,
        workflow: Workflow,
        *,
        query: str,
        pool: Pool,
        previous: tuple[SeenResponse, ...] = (),
        conversation: Conversation = NO_CONVERSATION,
    ) -> BoundWorkflow:
        """Raises `WorkflowError` when a step names a worker that the pool does not have, unless it is pinned
        and so never called.
        """
        workflow.check_workers(pool.cards)
        uncalled = {
            name: WorkerCard(name=name, kind=pin.worker_kind, strengths="", model="")
            for step, pin in workflow.pins.items()
            for name in workflow.steps[step].workers
            if name not in pool.cards
        }
        return cls(
            workflow=workflow,
            query=query,
            cards={**pool.cards, **uncalled},
            uncalled=frozenset(uncalled),
            previous=previous,
            conversation=conversation,
            numbers={name: at for at, name in enumerate(pool.names)},
            tool_version=pool.tool_version,
        )

    @cached_property
    def verbatim(self) -> bool:
        """Whether the one step's worker is sent the conversation and the query as they are."""
        return self.conversation.verbatim and len(self.workflow) == 1

    def call(self, step: int, outputs: Mapping[int, Output], *, by: WorkerCard | None = None) -> StepCall:
        """The call of `step`, given the outputs of all steps it may read; `by`: of the worker of that card,
        in the place of the step's own.

        Tags carry a nonce cut from the fingerprint, so that no response can close or forge one, and a rerun
        sends the same words.
        """
        bound = self._with_worker(step, by)
        bare = bound._request(step, outputs)
        address = bound._address(step, bare, outline=self.outlines[step])
        if self.verbatim or bound.styles[step] != "ours":
            return StepCall(address, bare)
        own, *following = bare.messages
        marked = replace(own, parts=tuple(_marked(part, address[:NONCE_LENGTH]) for part in own.parts))
        return StepCall(address, replace(bare, messages=(marked, *following)))

    def fingerprint(self, step: int, outputs: Mapping[int, Output], *, by: WorkerCard | None = None) -> str:
        """The address of `step`'s output, given the outputs of all steps it may read; see `call`."""
        if by is not None:
            bound = self._with_worker(step, by)
            return bound._address(step, bound._request(step, outputs), outline=self.outlines[step])
        read = [outputs[at] for at in self.workflow.steps[step].access]
        seen = tuple((output.worker, output.text, output.empty, output.hand is None) for output in read)
        if (last := self._addresses.get(step)) is None or last[0] != seen:
            address = self._address(step, self._request(step, outputs), outline=self.outlines[step])
            self._addresses[step] = last = (seen, address)
        return last[1]

    def would_give(self, step: int, output: Output, outputs: Mapping[int, Output]) -> bool:
        """Whether `output` answers `step`'s request, sent to the one that gave it, given the outputs of all
        steps it may read.
        """
        by = None if output.answered_instead is None else self.cards.get(output.worker)
        return output.fingerprint == self.fingerprint(step, outputs, by=by)

    def request(self, step: int, outputs: Mapping[int, Output]) -> Request:
        """What `step`'s worker is sent; see `call`."""
        return self.call(step, outputs).request

    @cached_property
    def outlines(self) -> tuple[str, ...]:
        """What is known of each step's fingerprint before the steps that it reads have an output."""
        return tuple(
            outline_digits(blank, identity=identity)
            for blank, identity in zip(self._blanks, self._identities, strict=True)
        )

    @cached_property
    def _blanks(self) -> tuple[Request, ...]:
        """Each step's request with blank responses."""
        return tuple(self._request(step, None) for step in range(len(self.workflow)))

    @cached_property
    def styles(self) -> tuple[RequestStyle, ...]:
        """How each step's request is laid out."""
        return tuple(
            step.prompt_style or self.cards[step.worker].prompt_style for step in self.workflow.steps
        )

    @cached_property
    def _identities(self) -> tuple[str, ...]:
        return tuple(_identity(self.cards[step.worker], step) for step in self.workflow.steps)

    def _with_worker(self, step: int, by: WorkerCard | None) -> BoundWorkflow:
        """The same with `step` given to another worker."""
        if by is None or by.name == self.workflow.steps[step].worker:
            return self
        cards = {**self.cards, by.name: by}
        return replace(self, workflow=self.workflow.with_worker(step, by.name), cards=cards)

    def _address(self, step: int, bare: Request, *, outline: str) -> str:
        """`outline` is that of the step as it is in the plan."""
        return fingerprint(bare, identity=self._identities[step], outline=outline)

    def _request(self, step: int, outputs: Mapping[int, Output] | None) -> Request:
        """One user message, but where it is `verbatim`, and behind it, in the final step's, what follows the
        query. The worker's own sampling is used where the step has none. Without `outputs` each response that
        the step may read is blank. A mark stands for the nonce.
        """
        own = self.workflow.steps[step]
        if outputs is not None and not own.access:
            return self._blanks[step]
        card = self.cards[own.worker]
        sampling = own.sampling.over(card.sampling)
        if self.verbatim:
            messages = verbatim_messages(self._conversations[step], self.query)
            return Request(messages=messages, sampling=sampling)
        context = self._prompt_context(step, outputs)
        if self.styles[step] == "moa":
            return Request(messages=moa_messages(context), sampling=sampling)
        if self.styles[step] == "research":
            messages = research_messages(context, card.wording or OURS, self.numbers)
            return Request(messages=messages, sampling=sampling)
        parts = tagged_parts(context)
        images = behind(parts, context.conversation.pictures)
        own_message = Message("user", tuple(parts), images=images)
        return Request(messages=(own_message, *context.following), sampling=sampling)

    @cached_property
    def _conversations(self) -> tuple[Conversation, ...]:
        """The conversation as each step sees it."""
        return tuple(map(self._conversation_of, range(len(self.workflow))))

    def _conversation_of(self, step: int) -> Conversation:
        """Results that came behind the plan are for the final step, and leave the others as they were; so do
        other images those steps whose workers see no image, and other files those that may see no file.
        Thoughts are for the worker that made them.
        """
        own = self.conversation if step == self.workflow.final else self.conversation.planned_before
        own = own.with_thoughts_of(self.workflow.steps[step].worker)
        if not self.workflow.steps[step].sees_files:
            return own.without_attachments
        sees_images = self.cards[self.workflow.steps[step].worker].vision
        return own if sees_images else own.without_images

    def _prompt_context(self, step: int, outputs: Mapping[int, Output] | None) -> PromptContext:
        own = self.workflow.steps[step]
        # Before a call, a pin stays that of the worker which gave it.
        answers: Mapping[int, Output] = self.workflow.pins if outputs is None else outputs
        seen = [
            SeenResponse(
                step=read,
                # Who answered, which may be a fallback.
                worker=answers[read].worker if read in answers else self.workflow.steps[read].worker,
                instruction=self.workflow.steps[read].instruction,
                response="" if outputs is None else outputs[read].text,
                by_hand=outputs is not None and outputs[read].hand is not None,
            )
            for read in own.access
            if outputs is None or not outputs[read].empty
        ]
        return PromptContext(
            query=self.query,
            conversation=self._conversations[step],
            goes_on=step == self.workflow.final,
            instruction=own.instruction,
            seen=[*self.previous, *seen] if own.sees_previous else seen,
            # Of no other style: so a proposer's request is the same in any workflow.
            final=step == self.workflow.final and self.styles[step] == "ours",
            nonce=_MARK,
        )


def _identity(card: WorkerCard, step: Step) -> str:
    """Who answers a step, and by which tools where it names those."""
    return card.identity if step.tools is None else "\x1f".join((card.identity, "tools", *step.tools))


def _marked(part: Part, nonce: str) -> Part:
    """The part with the nonce, which only our own words have."""
    return Part("frame", part.text.replace(_MARK, nonce)) if part.kind == "frame" else part
