"""The orchard's workers: a small world whose questions need several of them, one after the other.

`families.py` knows its questions and their right answers, `reading.py` reads them back, `skills.py` has the
workers and what each does with what it is sent. Which plan solves a question is in `conductor.orchard`.
"""
