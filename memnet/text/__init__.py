"""What is known of language: names, sentences, stop words."""
