"""Defences of classifiers: of what is answered, and of how it is trained."""
