"""The calculator: a worker that computes exactly and declines whatever is no calculation."""
