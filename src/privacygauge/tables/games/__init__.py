"""Privacy games on generators: coins, synthetic tables, scores."""
