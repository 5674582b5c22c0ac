"""Requests on the wire: how a body is read, and the parameters of both endpoints."""
