"""Findings on synthetic tables rendered: a page, a document, tables, plots."""
