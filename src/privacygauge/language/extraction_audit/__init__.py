"""Extraction: texts that a causal language model can be made to write."""
