"""Reports on synthetic tables."""
