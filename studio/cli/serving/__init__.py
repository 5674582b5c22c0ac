"""The commands that serve: the app, the API, agents and models."""
