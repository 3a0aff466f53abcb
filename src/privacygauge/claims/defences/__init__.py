"""Defences of classifiers: those that change the answers, and those that change the training."""
