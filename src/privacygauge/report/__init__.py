"""Reports as values, and their forms: a page, a document for programs, tables, plots."""
