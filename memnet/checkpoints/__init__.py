"""Checkpoints: folders of tensors with a JSON description."""
