"""Membership attacks on synthetic tables: was a record among the generator's training records."""
