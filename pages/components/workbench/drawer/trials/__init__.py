"""Experiments on the workflow: what can be tried, what is being tried, and what it showed."""
