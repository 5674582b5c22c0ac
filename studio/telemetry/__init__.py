"""Telemetry for the owner of a server: metrics, logs and traces, all from the events of runs."""
