"""Planners to compare a Conductor with: each writes, by a rule, the workflow of a published method.

`named.py` finds one by its name. Knows planners and workflows; knows neither engine nor store.
"""
