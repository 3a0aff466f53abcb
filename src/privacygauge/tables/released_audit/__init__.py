"""Audits of one synthetic table that is released."""
