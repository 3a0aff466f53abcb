"""The game that every audit plays: deal, observe, score; numpy and scipy only."""
