"""From a query to an answer: rounds of planning and running, with whom, and where it is recorded.

Knows the planner and the engine; knows no store and no page.
"""
