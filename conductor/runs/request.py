"""A request: the value in which a query travels, and its state as the fold of the events of its rounds.

The state is pure, the same live and in replay. Knows values, workflows and the states of runs; planner,
workers and recorder are separate arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor.runs.events import BudgetExceeded, Event
from conductor.runs.state import RunState, advance_rounds
from conductor.values.budget import Used
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.message_parts.tools import ToolOffer
from conductor.values.messages import Usage, Value
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.values.total import NOTHING, Total
from conductor.workflow.model import Workflow
from conductor.workflow.selection import with_own_settings


class Asker(Value):
    """Who makes a request: the id of a token, or a person by name; None if unknown."""

    token: str | None = None
    """The id of the bearer token, or None."""
    person: str | None = None
    """The name of the person, or None."""

    def turns(self, session: str) -> tuple[str, ...]:
        """For whom requests of this session wait at an endpoint: people take turns there, then sessions."""
        return (self.token or self.person or "", session)


UNKNOWN_ASKER = Asker()
"""Who makes a request is unknown."""


class ChangeRequest(Value):
    """What is to change in `workflow`, the plan as it is: the `wish`, in words."""

    workflow: Workflow
    wish: str


@dataclass(frozen=True)
class RunRequest:
    """A query to plan and run.

    `workflow` is run in the first round; where it is None, the Conductor plans one, or writes that of the
    `change` as is asked for there, whose own settings stay. `finish` is pure and
    returns what is stored and run instead of a planned workflow, in each round; what it raises ends the
    request. `tools` are those that a planned workflow's final step may call, by which `finish` has it call
    them. `sent_on`: the answer is sent on while it is written, so no part of it can be withdrawn. `may_call`
    are the pool's workers that it may call at all, None for all: a workflow with another one does not run.
    Not `attended`: no person can be asked whether a tool may act. `recorded`: a call of a tool that a run
    before made gets the result from there. `tool_limit` are patterns of the only tools that workers may call,
    None for all. `by` is who makes it, for the ledger.
    """

    query: str
    settings: Settings = Settings()
    conversation: Conversation = NO_CONVERSATION
    workflow: Workflow | None = None
    change: ChangeRequest | None = None
    finish: Callable[[Workflow], Workflow] | None = None
    tools: ToolOffer | None = None
    sent_on: bool = False
    may_call: frozenset[str] | None = None
    attended: bool = True
    recorded: bool = False
    tool_limit: tuple[str, ...] | None = None
    by: Asker = UNKNOWN_ASKER

    def runnable(self, planned: Workflow) -> Workflow:
        """The workflow that is stored and run where the Conductor wrote `planned`."""
        if self.change is not None:
            planned = with_own_settings(self.change.workflow, planned)
        return planned if self.finish is None else self.finish(planned)


@dataclass(frozen=True)
class RequestState:
    """A request so far. `attempts` has a state for each attempt at a plan, together with the run of what was
    planned, oldest first; `before` is what the request took that this one goes on with.
    """

    attempts: tuple[RunState, ...] = ()
    before: Total = NOTHING

    def advance(self, event: Event) -> RequestState:
        """The state after one more event. Raises `ValueError` as `conductor.runs.state.advance`."""
        return RequestState(advance_rounds(self.attempts, event), self.before)

    @property
    def runs(self) -> tuple[RunState, ...]:
        """The runs, one a round; the last one may be under way."""
        return tuple(state for state in self.attempts if state.workflow is not None)

    @property
    def run(self) -> RunState | None:
        """The run whose answer counts: the last one that finished with one, else the last one."""
        runs = self.runs
        answered = [run for run in runs if run.status == "finished" and run.answer is not None]
        return answered[-1] if answered else runs[-1] if runs else None

    @property
    def answer(self) -> str | None:
        """The answer of `run`, or None if it has none or did not finish."""
        run = self.run
        return None if run is None or run.status != "finished" else run.answer

    @property
    def output(self) -> Output | None:
        """The step's output that is the answer."""
        run = self.run
        return None if run is None or run.answer_step is None else run.steps[run.answer_step].output

    @property
    def planned(self) -> bool:
        """Whether a Conductor wrote a workflow."""
        return any(state.report is not None and state.report.workflow is not None for state in self.attempts)

    @property
    def failure(self) -> str | None:
        """Why the last attempt gave no plan; None if it gave one, or keeps the answer."""
        return self.attempts[-1].no_plan if self.attempts else None

    @property
    def over_budget(self) -> BudgetExceeded | None:
        """The limit at which the last attempt at a plan was stopped."""
        last = self.attempts[-1] if self.attempts else None
        return None if last is None or last.workflow is not None else last.crossing

    @property
    def calls(self) -> int:
        """Requests that workers and Conductors got; see `RunState.calls`."""
        return self.before.calls + sum(state.calls for state in self.attempts)

    @property
    def called_a_model(self) -> bool:
        """Whether a request to one has ended, also inside steps. Built-in experts and rules make none."""
        return any(state.charges for state in self.attempts)

    @property
    def used(self) -> Total:
        """What the requests took so far that were made for it."""
        return sum((state.used for state in self.attempts), self.before)

    @property
    def charged(self) -> Used:
        """What a limit is charged for the requests of this state, by estimate what is not known."""
        charges = [charge for state in self.attempts for charge in state.charges]
        return Used(
            tokens=sum(charge.charged_tokens for charge in charges),
            cost=sum(charge.charged_cost for charge in charges),
            calls=len(charges),
        )

    @property
    def usage(self) -> Usage:
        """What `used` is exactly; None for what is not known so."""
        return self.used.usage
