"""Kinds of audit, a folder each: the request, the run, the findings and the report."""
