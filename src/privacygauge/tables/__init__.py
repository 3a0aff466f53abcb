"""Synthetic tables: records at risk, and privacy audits of generators and released tables."""
