"""Unlearning: whether a model that was made to forget records still gives them away."""
