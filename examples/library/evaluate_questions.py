"""Twenty questions, two planners, and a scorer of one's own."""

from conductor import Item, evaluate


def ends_right(response: str, item: Item) -> bool:
    return response.strip().endswith(item.target[0])


questions = [(f"What is {number} * 7?", str(number * 7)) for number in range(1, 21)]
print(evaluate(questions, {"planned": "conductor", "alone": "worker:calculator"}, scorer=ends_right))
