"""A ranking of a table's records by how far they are from all others."""
