"""Report sections on membership attacks, shared by all kinds of audits."""
