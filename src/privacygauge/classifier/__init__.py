"""Classifiers: predictions, the signals in them, and the game that is played with them."""
