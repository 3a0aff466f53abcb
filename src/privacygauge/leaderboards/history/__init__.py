"""A leaderboard's history: reading it, replaying it under guards, and testing it for cheating."""
