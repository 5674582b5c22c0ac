"""The rows of each table, as functions of a connection inside a transaction."""
