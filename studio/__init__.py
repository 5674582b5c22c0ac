"""The application: what a person or a client does with sessions.

Knows storage and conductor; no streamlit and no SQL.
"""
