"""Serves a Conductor with vLLM: finds it, starts it, waits until it is ready, and ends it.

vLLM lives in the Python environment that is named; nothing here imports it.
"""
