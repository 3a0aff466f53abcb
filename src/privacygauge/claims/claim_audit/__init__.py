"""Audits of a claim of differential privacy."""
