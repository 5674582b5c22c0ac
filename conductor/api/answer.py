"""The answer to a request as it comes, and what is known of it in the end. A fold of events.

What is given out is never taken back: joined, it is the answer. Earlier rounds are heard, but only the last
one that there can be is given out while it is written. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.api.cut import Cut
from conductor.api.tally import Tally
from conductor.events import (
    BudgetExceeded,
    Event,
    PlanningFailed,
    PlanRejected,
    RunFinished,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepKept,
    StepRetried,
    StepReused,
    StepStarted,
    WorkflowPlanned,
)
from conductor.messages import FinishReason
from conductor.output import Output
from conductor.run_state import RunState, advance


class Answer:
    """`rounds` is how many there can be; `stops` are texts before the first of which the answer ends. Unless
    it is `live`, nothing is given out before the end.

    `runs` are the rounds' states, the last one perhaps under way. `said` is all that was given out; `planned`
    that a Conductor wrote a workflow.
    """

    def __init__(self, *, rounds: int, stops: Sequence[str] = (), live: bool = True) -> None:
        self.tally = Tally()
        self.runs: list[RunState] = []
        self.said = ""
        self.failure: str | None = None
        self.crossing: BudgetExceeded | None = None
        self.planned = False
        self._rounds = rounds
        self._live = live
        self._cut = Cut(stops)
        self._heard = ""

    def hear(self, event: Event) -> str:
        """What the event adds to the text that is given out."""
        self.tally.hear(event)
        match event:
            case StepDelta():
                return self._delta(event)
            case WorkflowPlanned():
                self.planned = True
            case PlanRejected():
                self.failure = " ".join(problem.message for problem in event.report.problems)
            case PlanningFailed():
                self.failure = event.message
            case RunStarted():
                self.runs.append(advance(RunState(), event))
                self.failure = None
            case BudgetExceeded() if not self.runs or not self.runs[-1].live:
                # Planning was stopped.
                self.crossing = event
            case (
                BudgetExceeded() | RunFinished() | StepStarted() | StepRetried() | StepFellBack()
                | StepFinished() | StepReused() | StepKept() | StepFailed() | StepBlocked() | StepCancelled()
            ):  # fmt: skip
                self.runs[-1] = advance(self.runs[-1], event)
        match event:
            case StepFinished() | StepReused() | StepKept():
                return self._finished(event.step, event.output)
            case RunFinished() if self._last:
                return self._complete(event.answer or "")
            case _:
                return ""

    def end(self) -> str:
        """What is left to give out once nothing more is heard. See `broken` first."""
        rest = self._complete(self.text or "")
        return rest + self._give(self._cut.end())

    @property
    def run(self) -> RunState | None:
        """The run whose answer counts: the last one that has any, else the last one."""
        answered = [run for run in self.runs if run.status == "finished" and run.answer is not None]
        return answered[-1] if answered else self.runs[-1] if self.runs else None

    @property
    def text(self) -> str | None:
        """The whole answer as the run tells it, None where there is none."""
        run = self.run
        return None if run is None or run.status != "finished" else run.answer

    @property
    def output(self) -> Output | None:
        """The output that is the answer."""
        run = self.run
        if run is None or run.answer_step is None:
            return None
        return run.steps[run.answer_step].output

    @property
    def broken(self) -> bool:
        """Whether a part of another text was given out already, so that the answer cannot be."""
        text = self.text
        return text is not None and bool(self._heard.strip()) and not text.startswith(self._heard)

    @property
    def finish_reason(self) -> FinishReason:
        """Why the answer ends where it does."""
        output = self.output
        return "stop" if self._cut.found or output is None else output.finish_reason

    # -- pieces ------------------------------------------------------------------------------------

    @property
    def _last(self) -> bool:
        """Whether no round can follow the one under way, so that its answer may go out."""
        return self._live and bool(self.runs) and self.runs[-1].round >= self._rounds

    def _is_answer(self, step: int) -> bool:
        workflow = self.runs[-1].workflow
        return self._last and workflow is not None and step == workflow.final

    def _delta(self, event: StepDelta) -> str:
        return self._more(event.text) if self._is_answer(event.step) else ""

    def _finished(self, step: int, output: Output) -> str:
        if not self._is_answer(step) or output.empty:
            return ""
        return self._complete(output.text)

    def _complete(self, whole: str) -> str:
        """The rest of a text of which some may have been given out."""
        if not self._heard.strip():
            self._heard = ""
        return self._more(whole[len(self._heard) :]) if whole.startswith(self._heard) else ""

    def _more(self, text: str) -> str:
        before, self._heard = self._heard, self._heard + text
        if not self._heard.strip():
            # Were this all, another step's response would be the answer.
            return ""
        # What was held back so far comes first.
        return self._give(self._cut.feed(text if before.strip() else self._heard))

    def _give(self, text: str) -> str:
        self.said += text
        return text
