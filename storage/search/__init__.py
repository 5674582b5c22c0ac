"""Finding sessions: by their texts, and by what they are."""
