"""`--scorer all-words`: right is a response that has all words of a target, in any order."""

from conductor.evaluation.items import Item
from conductor.evaluation.score import Score


def all_words(response: str, item: Item) -> Score:
    words = set(response.lower().split())
    return Score.of(any(set(target.lower().split()) <= words for target in item.target), response)
