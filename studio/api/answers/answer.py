"""The answer to a request while it comes: what of it is given out, and when.

Text that was given out is never taken back: joined, it is the answer. All rounds are read, but only the last
possible round is given out while it is written. Knows no HTTP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from conductor.runs import events
from conductor.runs.request import RequestState
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.messages import FinishReason
from conductor.values.output import Output
from conductor.values.total import NOTHING, Total
from studio.api.answers.given_thoughts import GivenThoughts
from studio.api.answers.tool_calls import GivenCalls

Piece = Literal["thoughts", "text"] | int
"""What an answer has: thoughts, a text, and calls of tools by their places, which count from 0."""


class Answer:
    """`rounds` is the most rounds there can be; the answer ends before the first of the texts `stops`. Unless
    it is `live`, nothing is given out before the end. `state` is the request so far, `calls` the calls of
    tools, which have ids of ours unless those of the worker are to be `verbatim`, `thoughts` what led to it,
    and `tokens` those of the text whose log probabilities are known. `used_before` is what the request took
    that this one goes on with.
    """

    def __init__(
        self,
        *,
        rounds: int,
        stops: Sequence[str] = (),
        live: bool = True,
        verbatim: bool = False,
        used_before: Total = NOTHING,
    ) -> None:
        self.state = RequestState(before=used_before)
        self.verbatim = verbatim
        self.calls = GivenCalls(verbatim=verbatim)
        self.thoughts = GivenThoughts(verbatim=verbatim)
        self.tokens = GivenTokens(stops)
        self.stops = tuple(stops)
        self._rounds = rounds
        self._live = live
        self._stops = StopSequences(stops)
        self._pieces: list[str] = []
        self._written: list[str] = []
        self._blank = True
        self.order: list[Piece] = []
        """What it has, in the order in which each began to be given out."""

    def add(self, event: events.Event) -> str:
        """The text that the event adds to what is given out."""
        if not isinstance(event, events.TextPiece):
            self.state = self.state.advance(event)
        match event:
            case events.StepDelta():
                if not self._is_answer(event.step):
                    return ""
                self.tokens.add(event.logprobs)
                return self._write(event.text)
            case events.StepThought():
                if self._is_answer(event.step):
                    self.thoughts.add(event.text, event.members)
                    self._note_order()
                return ""
            case events.StepFellBack():
                self.calls.signed = self.calls.signed and not self._is_answer(event.step)
                return ""
            case events.StepCallDelta():
                if self._is_answer(event.step):
                    self.calls.add(event)
                    self._note_order()
                return ""
            case events.StepFinished() | events.StepReused() | events.StepKept():
                if not self._is_answer(event.step) or event.output.empty:
                    return ""
                self._complete_thoughts(event.output)
                text = self._complete(event.output.text)
                self.tokens.complete(event.output.logprobs)
                self.calls.complete(event.output.tool_calls, run=event.run)
                self._note_order()
                return text
            case events.RunFinished() if self._last and not self.state.runs[-1].calls_tools:
                return self._complete(event.answer or "")
            case _:
                return ""

    def end(self) -> str:
        """The rest of the text, once there are no more events. See `broken` first."""
        output, run = self.state.output, self.state.run
        if output is not None:
            self._complete_thoughts(output)
        rest = self._complete(self._text or "")
        if output is not None and run is not None and run.run is not None:
            self.calls.complete(output.tool_calls, run=run.run)
            self.tokens.end(output.logprobs)
        if self._blank:
            self.tokens = GivenTokens()
        rest += self._give_out(self._stops.end())
        self._note_order()
        return rest

    @property
    def sent_text(self) -> str:
        return "".join(self._pieces)

    @property
    def broken(self) -> bool:
        """Whether part of another text was given out already, so that the answer cannot be."""
        text, output = self._text, self.state.output
        if text is None:
            return False
        calls = () if output is None else output.tool_calls
        return not self.calls.begin(calls) or (
            not self._blank and not text.startswith("".join(self._written))
        )

    @property
    def finish_reason(self) -> FinishReason:
        output = self.state.output
        if output is None or (self._stops.has_stopped and not output.tool_calls):
            return "stop"
        return output.finish_reason

    @property
    def _text(self) -> str | None:
        """The answer's own text: what people read has calls of tools in it, in words."""
        output, answer = self.state.output, self.state.answer
        return answer if answer is None or output is None or not output.tool_calls else output.text

    @property
    def _last(self) -> bool:
        """Whether no round can follow the one that runs, so that its answer may be given out."""
        runs = self.state.runs
        return self._live and bool(runs) and runs[-1].round >= self._rounds

    def _is_answer(self, step: int) -> bool:
        if not self._last:
            return False
        workflow = self.state.runs[-1].workflow
        return workflow is not None and step == workflow.final

    def _complete(self, whole: str) -> str:
        """The rest of a text whose beginning may have been given out."""
        if self._blank:
            self._written = []
        written = "".join(self._written)
        return self._write(whole[len(written) :]) if whole.startswith(written) else ""

    def _write(self, text: str) -> str:
        self._written.append(text)
        if not self._blank:
            return self._give_out(self._stops.feed(text))
        if not text.strip():
            # Were white space all there is, another step's response would be the answer.
            return ""
        self._blank = False
        return self._give_out(self._stops.feed("".join(self._written)))

    def _give_out(self, text: str) -> str:
        self._pieces.append(text)
        if text:
            self._note_order()
        return text

    def _complete_thoughts(self, output: Output) -> None:
        self.thoughts.complete(output)
        self.calls.signed = self.calls.signed and output.answered_instead is None
        if self.thoughts:
            self._note_order()

    def _note_order(self) -> None:
        """Add what began since the last time."""
        thoughts = bool(self.thoughts) or self.thoughts.sealed is not None
        pieces: dict[Piece, bool] = {"thoughts": thoughts, "text": any(self._pieces)}
        pieces |= dict.fromkeys(range(self.calls.count), True)
        self.order += [piece for piece, has_begun in pieces.items() if has_begun and piece not in self.order]


class StopSequences:
    """Passes a text on piece by piece, up to the first of the `stops`, which are not empty.

    Text that could be the beginning of one is held back until that is decided. `has_stopped`: ended at one.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.has_stopped = False
        self._stops = tuple(stops)
        self._held = ""

    def feed(self, text: str) -> str:
        """The text to pass on after the next piece."""
        if self.has_stopped:
            return ""
        text = self._held + text
        certain = len(text) - max((_overlap(text, stop) for stop in self._stops), default=0)
        place = self._place(text)
        # A complete stop does not count yet where another one may have begun before it.
        if place is not None and place <= certain:
            self.has_stopped, self._held = True, ""
            return text[:place]
        self._held = text[certain:]
        return text[:certain]

    def end(self) -> str:
        """The text that was held back, once no more comes."""
        held, self._held = self._held, ""
        place = self._place(held)
        self.has_stopped = self.has_stopped or place is not None
        return held[:place]

    def _place(self, text: str) -> int | None:
        return min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=None)


class GivenTokens:
    """The tokens that are given out with their log probabilities: those before the first of the `stops`, less
    one that has a part of it.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = StopSequences(stops)
        self._came = 0
        self._held: deque[TokenLogprob] = deque()
        self._room = 0
        self._tokens: list[TokenLogprob] = []
        self._position = 0

    def add(self, tokens: Sequence[TokenLogprob]) -> None:
        """The next tokens."""
        self._came += len(tokens)
        for token in tokens:
            if not self._stops.has_stopped:
                self._held.append(token)
                self._give(self._stops.feed(token.token))

    def complete(self, tokens: Sequence[TokenLogprob]) -> None:
        self.add(tokens[self._came :])

    def end(self, tokens: Sequence[TokenLogprob]) -> None:
        """As `complete`; nothing is held back from here on."""
        self.complete(tokens)
        self._give(self._stops.end())

    def take(self) -> list[TokenLogprob]:
        """Those since the last time, for the pieces of a stream."""
        waiting = self._tokens[self._position :]
        self._position = len(self._tokens)
        return waiting

    @property
    def whole(self) -> list[TokenLogprob]:
        return self._tokens

    def _give(self, text: str) -> None:
        """Give out the tokens that are in the text so far, `text` included, as a whole."""
        self._room += len(text)
        while self._held and len(self._held[0].token) <= self._room:
            token = self._held.popleft()
            self._room -= len(token.token)
            self._tokens.append(token)


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` are the beginning of `stop`."""
    lengths = range(min(len(stop) - 1, len(text)), 0, -1)
    return next((length for length in lengths if text.endswith(stop[:length])), 0)
