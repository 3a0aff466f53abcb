"""Privacy games on generators: from coins to synthetic tables to scores."""
