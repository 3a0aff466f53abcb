"""Runs on disk, with every file written completely or not at all."""
