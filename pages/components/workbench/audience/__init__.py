"""A session for an audience: presented in large letters, or through a view-only link."""
