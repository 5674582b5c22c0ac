"""The fingerprint and the request of each step of a workflow. Pure.

Knows what a step may see. `prompt_layouts` lays requests out, `run` runs the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from conductor.engine.prompt_layouts import (
    STYLES,
    VERBATIM,
    PromptContext,
    behind,
    moa_messages,
    research_messages,
    tagged_parts,
    verbatim_messages,
)
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.messages import Message, Request, RequestStyle, Sampling, SeenResponse
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.wording.wording import OURS, Wording
from conductor.workflow.fingerprint import fingerprint, written
from conductor.workflow.model import Workflow


@dataclass(frozen=True)
class BoundWorkflow:
    """A workflow with its query and its workers: all that decides the steps' requests, except the outputs.

    `identities` and `styles` hold each step's worker identity and the style of its request. `previous` holds
    the responses of the previous round's steps, `conversation` the messages before the query. The steps in
    `sighted` have workers that see images; those in `wordings` have workers with other texts of the research
    layout than ours, and `numbers` are the pool's in that layout. Methods take outputs by step position.
    """

    workflow: Workflow
    query: str
    identities: tuple[str, ...]
    styles: tuple[RequestStyle, ...]
    previous: tuple[SeenResponse, ...] = ()
    conversation: Conversation = NO_CONVERSATION
    sighted: frozenset[int] = frozenset()
    wordings: Mapping[int, Wording] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)

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
        """Raises `WorkflowError` when a step names a worker that the pool does not have."""
        workflow.check_workers(pool.cards)
        names = [step.worker for step in workflow.steps]
        return cls(
            workflow=workflow,
            query=query,
            identities=tuple(pool.identities[name] for name in names),
            styles=tuple(
                step.prompt_style or pool.cards[step.worker].prompt_style for step in workflow.steps
            ),
            previous=previous,
            conversation=conversation,
            sighted=frozenset(at for at, name in enumerate(names) if pool.cards[name].vision),
            wordings={
                at: wording
                for at, name in enumerate(names)
                if (wording := pool.cards[name].wording) is not None
            },
            numbers={name: at for at, name in enumerate(pool.names)},
        )

    @cached_property
    def verbatim(self) -> bool:
        """Whether the one step's worker is sent the conversation and the query as they are."""
        return self.conversation.verbatim and len(self.workflow) == 1

    def fingerprint(self, step: int, outputs: Mapping[int, Output]) -> str:
        """The address of `step`'s output, given the outputs of all steps it may read."""
        own = self.workflow.steps[step]
        read = [outputs[at] for at in own.access]
        return fingerprint(
            own,
            identity=self.identities[step],
            query=self.query,
            conversation=self._written[step],
            seen=[output.text for output in read],
            by_hand=[at for at, output in enumerate(read) if output.hand is not None],
            previous=[done.response for done in self.previous] if own.sees_previous else (),
            final=self._names_final(step),
            style=VERBATIM if self.verbatim else self._style(step),
        )

    def request(
        self, step: int, outputs: Mapping[int, Output], *, address: str, defaults: Sampling | None = None
    ) -> Request:
        """What `step`'s worker is sent: one user message, but where it is `verbatim`, and behind it, in the
        final step's, what follows the query.

        `address` is the step's fingerprint; tags carry a nonce cut from it, so that no response can close or
        forge one, and a rerun sends the same words. `defaults` is the worker's own sampling, used where the
        step has none.
        """
        own = self.workflow.steps[step]
        sampling = own.sampling if defaults is None else own.sampling.over(defaults)
        if self.verbatim:
            messages = verbatim_messages(self._conversations[step], self.query)
            return Request(messages=messages, sampling=sampling)
        context = self._prompt_context(step, outputs, nonce=address[:8])
        if self.styles[step] == "moa":
            return Request(messages=moa_messages(context), sampling=sampling)
        if self.styles[step] == "research":
            messages = research_messages(context, self.wordings.get(step, OURS), self.numbers)
            return Request(messages=messages, sampling=sampling)
        parts = tagged_parts(context)
        following = [turn.message for turn in context.conversation.following]
        images = behind(parts, context.conversation.pictures)
        own_message = Message("user", tuple(parts), images=images)
        return Request(messages=(own_message, *following), sampling=sampling)

    def _style(self, step: int) -> str:
        """The layout's name and version, with a digest of its texts where they are not ours."""
        name, wording = STYLES[self.styles[step]], self.wordings.get(step)
        return name if self.styles[step] != "research" or wording is None else f"{name} {wording.digest}"

    @cached_property
    def _conversations(self) -> tuple[Conversation, ...]:
        """The conversation as each step sees it."""
        return tuple(map(self._conversation_of, range(len(self.workflow))))

    @cached_property
    def _written(self) -> tuple[str, ...]:
        """The same as it counts in each step's fingerprint; most steps see one and the same."""
        apart = {id(seen): seen for seen in self._conversations}
        texts = {key: written(seen) for key, seen in apart.items()}
        return tuple(texts[id(seen)] for seen in self._conversations)

    def _conversation_of(self, step: int) -> Conversation:
        """What follows the query are results for the final step, which leave the others as they were; so do
        other images those steps whose workers see no image, and other files those that may see no file.
        """
        own = self.conversation if step == self.workflow.final else self.conversation.before
        if not self.workflow.steps[step].sees_files:
            return own.without_attachments
        return own if step in self.sighted else own.without_images

    def _names_final(self, step: int) -> bool:
        """Whether the step's request names it the last one; so a proposer's is the same in any workflow."""
        return step == self.workflow.final and self.styles[step] == "ours"

    def _prompt_context(self, step: int, outputs: Mapping[int, Output], *, nonce: str) -> PromptContext:
        own = self.workflow.steps[step]
        seen = [
            SeenResponse(
                step=read,
                worker=self.workflow.steps[read].worker,
                instruction=self.workflow.steps[read].instruction,
                response=outputs[read].text,
                by_hand=outputs[read].hand is not None,
            )
            for read in own.access
            if not outputs[read].empty
        ]
        return PromptContext(
            query=self.query,
            conversation=self._conversations[step],
            instruction=own.instruction,
            seen=[*self.previous, *seen] if own.sees_previous else seen,
            final=self._names_final(step),
            nonce=nonce,
        )
