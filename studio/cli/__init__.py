"""The command line: one module a command. A program, so it may use the store; nothing imports it."""
