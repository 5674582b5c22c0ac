"""Computes after how many questions a planner has saved the cost of its learning. Pure."""

from __future__ import annotations

from conductor.baselines.planner_file.planner_file import BY_CATEGORY, PlannerFile


def break_even(learnt: PlannerFile) -> tuple[str, ...]:
    """The sentence, beside the best of the others that were examined; nothing where it is unknown."""
    if not learnt.card.exam:
        return ()
    own, *others = learnt.card.exam
    # The perfect router takes no tokens, being computed; nothing can plan by a category that is not given.
    measured = [
        (row.right / row.answers, -row.tokens, row)
        for row in others
        if row.answers and row.tokens is not None and row.planner != BY_CATEGORY
    ]
    if not measured or not own.answers or own.tokens is None or learnt.card.tokens is None:
        return ()
    rate, less, best = max(measured, key=lambda each: each[:2])
    if rate > own.right / own.answers:
        return (f"{best.planner} is right more often, so that learning is not paid for.",)
    saved = -less - own.tokens
    beside = f"beside {best.planner}, the best of the others"
    if saved <= 0:
        return (f"It takes {-saved * 1000:,.0f} tokens more for 1,000 questions {beside}.",)
    after = learnt.card.tokens / saved
    return (
        f"It saves {saved * 1000:,.0f} tokens for 1,000 questions {beside}: learning is paid for after "
        f"{after:,.0f} questions.",
    )
