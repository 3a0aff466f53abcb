"""Data that can be had without a download, with its licence."""
