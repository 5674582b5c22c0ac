"""Rules of equality, by which scorers, votes and choices compare two answers.

`writing` folds ways of writing, `units` and `amount` read numbers, `same_answer` compares whole answers, and
`choice` reads the letters of choices. Where a rule would have to guess, two answers differ.
"""
