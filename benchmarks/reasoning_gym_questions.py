"""Questions of six kinds that reasoning-gym makes and can verify, as a file for `learn mine`.

    pip install reasoning-gym==0.1.19          # Apache-2.0; best in an environment of its own
    python benchmarks/reasoning_gym_questions.py > reasoning-gym.jsonl

The kinds take turns, so that the first N lines have equal parts of all. Needs nothing of this program.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

import reasoning_gym

KINDS = {
    "basic_arithmetic": ("number", {}),
    "chain_sum": ("number", {"max_terms": 2, "min_digits": 1, "max_digits": 1}),
    "letter_counting": ("number", {"max_words": 6}),
    "number_format": ("number", {"max_num_candidates": 3}),
    "needle_haystack": ("contains", {"min_num_statements": 2, "max_num_statements": 4}),
    "syllogism": ("contains", {}),
}
"""By the library's names: how an answer is scored, and what makes them easy enough for a tiny model."""


def rows(each: int, *, seed: int) -> Iterator[dict[str, object]]:
    """So many questions of each kind, as lines of a data file."""
    sets = {
        kind: reasoning_gym.create_dataset(kind, size=each, seed=seed, **more)
        for kind, (_, more) in KINDS.items()
    }
    for at in range(each):
        for kind, (scorer, _) in KINDS.items():
            question = sets[kind][at]
            yield {
                "id": f"{kind}-{at}",
                "input": question["question"].strip(),
                "target": str(question["answer"]),
                "scorer": scorer,
                "metadata": {"category": kind},
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=20, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for row in rows(options.each, seed=options.seed):
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
