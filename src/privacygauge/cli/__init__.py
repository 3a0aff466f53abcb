"""The command line: one short function a subcommand."""
