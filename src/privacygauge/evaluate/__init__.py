"""Statistics on transcripts and decisions; independent of the domain they come from."""
