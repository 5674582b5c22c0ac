"""The run behind a request, and its answer in OpenAI's shapes."""
