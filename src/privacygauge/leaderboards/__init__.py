"""Test-set reuse: how far a leaderboard's answers give away its hidden labels."""
