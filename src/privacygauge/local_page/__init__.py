"""A page on this machine to drop files into; it begins audits and knows none of their kinds."""
