"""Attacks on signals, independent of the domain that the signals come from."""
