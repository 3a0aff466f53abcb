"""A run on disk: what is written, and that it is written whole or not at all."""
