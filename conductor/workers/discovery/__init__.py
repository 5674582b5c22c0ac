"""Finds models before a pool is written: those of servers on this machine and of services with a key."""
