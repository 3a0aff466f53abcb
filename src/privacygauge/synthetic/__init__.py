"""Synthetic tables: which records are at risk, and what a generator gives away about them."""
