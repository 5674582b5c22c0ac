"""What a message carries beside its text: images, files, tools and their calls, forms, log probabilities."""
