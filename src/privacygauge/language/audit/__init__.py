"""Audits of a language model, text by text and patient by patient."""
