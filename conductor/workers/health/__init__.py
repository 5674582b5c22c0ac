"""Whether the workers of a pool can be used: the requests to their endpoints, and what the answers mean."""
