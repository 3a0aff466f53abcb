"""Defences that act on what a classifier answers."""
