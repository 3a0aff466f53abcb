"""The audit of a synthetic table that was already released, without its generator."""
