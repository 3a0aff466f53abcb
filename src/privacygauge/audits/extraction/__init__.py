"""Extraction: whose texts a causal language model can be made to write."""
