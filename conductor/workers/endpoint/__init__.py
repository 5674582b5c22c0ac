"""A worker at an endpoint with OpenAI's chat completions: one call, from request to answer."""
