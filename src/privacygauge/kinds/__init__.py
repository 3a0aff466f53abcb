"""Request, command, session and one-line call: the parts that every kind of audit has."""
