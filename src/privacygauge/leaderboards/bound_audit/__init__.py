"""Audits of the reuse of a test set by theory."""
