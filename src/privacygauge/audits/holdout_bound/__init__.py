"""Audits of a test set by what theory says of its reuse."""
