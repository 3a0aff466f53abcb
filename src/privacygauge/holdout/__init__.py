"""Test-set reuse: what a leaderboard's answers give away about its hidden labels."""
