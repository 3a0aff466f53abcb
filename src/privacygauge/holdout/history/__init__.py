"""A leaderboard's history: reading it, replaying it under guards, and what stands out in it."""
