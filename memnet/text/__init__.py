"""What is known of language: names, sentences, English words."""
