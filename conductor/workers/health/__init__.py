"""Examines the workers of a pool: the requests to their endpoints, and what the answers mean."""
