"""A session for those who watch: presented in large letters, or through a view-only link."""
