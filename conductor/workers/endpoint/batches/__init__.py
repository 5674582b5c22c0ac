"""Calls that are sent together in batches, which a provider answers within a day at half the price."""
