"""Everyday questions, read whole by a grammar and answered without a model.

`wording.py` gives a question in plain words, `grammar.py` reads it by `question.lark`, `meanings/` has what
the grammar's rules mean, and `reading.py` finds the one answer. A question whose words are not all used,
or that has two readings with two answers, has no answer.
"""
