"""The offline mathematics: a question is read whole, computed with SymPy, and checked by numbers.

A question goes from `question.py` (text to problem) through `expert.py` (which problem is meant) to
`arithmetic.py`, `algebra.py` and `calculus.py` (the working); `checker.py` checks an answer by what
`numeric.py` computes. All but `question.py` and `formula.py` runs in the child process only.
"""
