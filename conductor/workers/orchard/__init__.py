"""The orchard's workers: a small world whose questions need several of them, one after the other.

`families.py` knows its questions and their right answers, `sums.py` sums in words, `skills.py` what
each worker does with what it is sent, `orchard_worker.py` the protocol. Which plan solves a question is in
`conductor.orchard`.
"""
