"""Attribute inference: whether a model gives away a column of the people it was trained on."""
