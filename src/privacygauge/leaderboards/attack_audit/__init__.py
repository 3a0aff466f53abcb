"""Audits of a test set by attacks that reuse it."""
