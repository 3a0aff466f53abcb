"""Decisions about releases: whether a policy is met, who signed until when, and the evidence."""
