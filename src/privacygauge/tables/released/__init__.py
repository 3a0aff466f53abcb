"""Audits of a released synthetic table, without its generator."""
