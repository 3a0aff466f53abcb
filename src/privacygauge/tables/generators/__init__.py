"""Generators of synthetic tables."""
