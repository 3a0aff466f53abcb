"""Classifiers: predictions, their signals, and the membership games on them."""
