"""Settings as a person chooses them: modes, which workers in which order, how they are shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from conductor.baselines.planner_file.file_planner import PREFIX
from conductor.orchestration.rounds import cheapest
from conductor.text.formatting import quantity
from conductor.values.budget import Budget
from conductor.values.presets import MODES, Mode, Settings
from conductor.workers.protocol import WorkerCard

_OF_MODE = ("max_steps", "rounds", "economical")
"""What a mode decides; workers, attempts and the budget stay as they are chosen."""

MODE_LINES: Mapping[Mode, str] = {
    "mini": "Fastest: one step, by a worker with the lowest known price.",
    "standard": "Up to five steps, one round.",
    "ultra": "Up to five steps; the Conductor reviews the answer and may plan again, up to three rounds.",
}


def mode_of(settings: Settings) -> Mode | None:
    """The mode these settings are, or None if something was chosen otherwise."""
    for mode, named in MODES.items():
        if all(getattr(named, name) == getattr(settings, name) for name in _OF_MODE):
            return mode
    return None


def with_mode(settings: Settings, mode: Mode) -> Settings:
    return settings.model_copy(update={name: getattr(MODES[mode], name) for name in _OF_MODE})


def used(settings: Settings, names: Sequence[str]) -> tuple[str, ...]:
    """The workers that the Conductor may use, in its order; `names` is the pool's."""
    return tuple(names) if settings.workers is None else settings.workers


def roster(settings: Settings, names: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """Every worker and whether it is used: in the pool's order, or in the chosen one with the rest behind.

    A used worker that the pool has lost is among them.
    """
    mine = used(settings, names)
    rest = [name for name in names if name not in mine]
    if [name for name in names if name in mine] == list(mine):
        return tuple((name, name in mine) for name in names)
    return tuple([(name, True) for name in mine] + [(name, False) for name in rest])


def with_use(settings: Settings, names: Sequence[str], worker: str, *, use: bool) -> Settings:
    """The settings with a worker used or not; one worker always is."""
    mine = used(settings, names)
    in_pool_order = [name for name in names if name in mine] == list(mine)
    if not use:
        return _with_workers(settings, names, [name for name in mine if name != worker] or mine)
    wider = [*mine, worker] if worker not in mine else mine
    return _with_workers(settings, names, sorted(wider, key=names.index) if in_pool_order else wider)


def moved(settings: Settings, names: Sequence[str], worker: str, *, to: int) -> Settings:
    """The settings with a used worker at the place `to` (from 0) among those used, or as near as there is."""
    order = list(used(settings, names))
    if worker not in order:
        return settings
    order.remove(worker)
    order.insert(max(to, 0), worker)
    return _with_workers(settings, names, order)


def _with_workers(settings: Settings, names: Sequence[str], chosen: Sequence[str]) -> Settings:
    every = tuple(chosen) == tuple(names)
    return settings.model_copy(update={"workers": None if every else tuple(chosen)})


def _steps(settings: Settings) -> str:
    steps = "1 step" if settings.max_steps == 1 else f"Up to {settings.max_steps} steps"
    return steps if settings.rounds == 1 else f"{steps}, {quantity(settings.rounds, 'round')}"


def _pool(settings: Settings, names: Sequence[str]) -> str:
    mine = used(settings, names)
    if set(mine) != set(names):
        return f"{len(mine)} of {quantity(len(names), 'worker')}"
    return quantity(len(names), "worker") + ("" if mine == tuple(names) else " in your order")


def summary(settings: Settings, names: Sequence[str]) -> str:
    """The settings in one line; `names` are the pool's workers. Without a budget it names none."""
    preset = (mode_of(settings) or "custom").capitalize()
    parts = (preset, _steps(settings), _pool(settings, names), *limits(settings.budget))
    return " · ".join(parts)


def planners(settings: Settings, learnt: Iterable[str]) -> Mapping[str, str]:
    """Who may plan, by the name of each in the settings, with its label; "" is whom the pool file chooses."""
    chosen = [settings.planner] if settings.planner is not None else []
    names = dict.fromkeys([*(f"{PREFIX}{name}" for name in learnt), *chosen])
    return {"": "The pool's Conductor"} | {name: name.removeprefix(PREFIX) for name in names}


def economy(settings: Settings, cards: Sequence[WorkerCard]) -> str:
    """Which of these workers are cheap enough for the settings; "" where they ask for no economy."""
    if not settings.economical or len(cards) < 2:
        return ""
    left = cheapest(cards)
    if not any(card.price is not None and not card.nested for card in cards):
        return "No price is known, so all workers stay available."
    if len(left) == len(cards):
        return "All workers have the same price."
    names = left[0].name if len(left) == 1 else f"{len(left)} of {quantity(len(cards), 'worker')}"
    return f"Lowest known price: {names}."


def limits(budget: Budget) -> list[str]:
    """Each limit of a budget in its unit."""
    parts = []
    if budget.tokens is not None:
        parts.append(quantity(budget.tokens, "token"))
    if budget.cost is not None:
        parts.append(f"${budget.cost:.2f}" if round(budget.cost, 2) == budget.cost else f"${budget.cost:g}")
    if budget.seconds is not None:
        parts.append(f"{budget.seconds:g} s")
    if budget.calls is not None:
        parts.append(quantity(budget.calls, "call"))
    return parts
