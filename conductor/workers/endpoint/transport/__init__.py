"""Requests on their way: connections, when each may be sent, and what comes back."""
