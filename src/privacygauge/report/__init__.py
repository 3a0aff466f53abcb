"""Reports as values, and their forms: HTML page, JSON document, tables, plots."""
