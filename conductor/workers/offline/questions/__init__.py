"""Everyday questions, read whole by a grammar and answered without a model.

`wording.py` gives a question in plain words, `reading.py` reads it by `question.lark`, and the other modules
state what its rules mean: numbers, dates, chances, countries, texts, stories. A question whose words are not
all used, or that has two readings with two answers, has no answer.
"""
