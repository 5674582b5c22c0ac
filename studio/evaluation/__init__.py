"""Evaluations on a pool: begun, run cell by cell, resumed, read as a table."""
