"""Attacks on signals, written once for every domain that supplies them."""
