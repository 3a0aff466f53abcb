"""`privacygauge holdout`: what a test set gives away that is used again and again."""
