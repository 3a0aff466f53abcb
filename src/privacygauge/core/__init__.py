"""The game of every audit (deal, observe, score); depends on numpy and scipy only."""
