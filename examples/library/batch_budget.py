"""A hundred questions, eight at a time, with one budget for all of them."""

from collections import Counter

from conductor import Budget, batch

runs = batch([f"What is {number} * 7?" for number in range(100)], parallel=8, budget=Budget(calls=150))
print(Counter(state.status for state in runs))
