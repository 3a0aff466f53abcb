"""Statistics on transcripts and decisions; blind to the domain that they come from."""
