"""Audits of a generator of synthetic tables: one game a record."""
