"""Conductor Studio's core: plans that a model wrote, read, checked, edited and run.

Knows neither the app (streamlit) nor the store (sqlalchemy).
"""
