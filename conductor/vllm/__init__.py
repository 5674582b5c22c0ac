"""Serving a Conductor with vLLM: what is installed, how it is started, when it is ready, how it ends.

vLLM itself lives in whatever Python environment is named; nothing here imports it.
"""
