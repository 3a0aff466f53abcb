"""Audits of a generator of synthetic tables: one game per record."""
