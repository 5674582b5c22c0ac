"""Orchestration leads from a query to an answer: rounds of planning and running, and their record.

Knows the planner and the engine; knows no store and no page.
"""
