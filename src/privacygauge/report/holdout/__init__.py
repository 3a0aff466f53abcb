"""What a test set gives away: bounds and attacks rendered."""
