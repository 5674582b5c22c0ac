"""Alembic's entry: runs the revisions in the transaction of the connection that `bring_up_to_date` gives."""

from __future__ import annotations

from alembic import context

from storage.database.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
