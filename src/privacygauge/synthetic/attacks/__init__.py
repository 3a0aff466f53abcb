"""Attacks on synthetic tables: was a record among those that a generator learnt from."""
