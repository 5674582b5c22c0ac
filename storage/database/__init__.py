"""The database itself: its engine, schema, the one writer, and what its errors mean."""
