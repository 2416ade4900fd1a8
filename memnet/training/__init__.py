"""Training: presets that learn a model from files, and the loop that they share."""
