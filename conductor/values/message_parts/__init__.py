"""Parts of a message beside its text: images, files, tools and their calls, forms, log probabilities."""
