"""Kinds of audit, a folder each: what was found, how it is played, what it says."""
