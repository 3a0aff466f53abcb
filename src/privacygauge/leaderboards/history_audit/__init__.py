"""Audits of a leaderboard's history."""
