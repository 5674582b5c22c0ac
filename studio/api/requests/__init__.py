"""Requests to the API, and what runs for them."""
