"""The orchard: a small world in which orchestration can be measured.

Its workers really compute over what they are sent, most of its questions need two or three of them in the
right order, and every right answer is known. `draw` gives questions, each with the plan of a perfect planner;
`teacher_plan` writes the plans of a poor one, `random_plan` valid ones without knowledge. Knows workers and
workflows; knows no planner and no engine.
"""

from conductor.orchard.plans import INSTRUCTIONS, random_plan, teacher_plan
from conductor.orchard.questions import Question, Split, draw
from conductor.workers.orchard.families import FAMILIES, Family
from conductor.workers.orchard.orchard_worker import orchard_workers
from conductor.workers.pool.pool import orchard_pool

__all__ = [
    "FAMILIES",
    "INSTRUCTIONS",
    "Family",
    "Question",
    "Split",
    "draw",
    "orchard_pool",
    "orchard_workers",
    "random_plan",
    "teacher_plan",
]
