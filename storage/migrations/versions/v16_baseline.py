"""Version 16, the oldest that is read: later revisions start from it, and nothing leads to it."""

revision = "16"
down_revision = None


def upgrade() -> None:
    """Change nothing: a store is made of the model's tables."""
