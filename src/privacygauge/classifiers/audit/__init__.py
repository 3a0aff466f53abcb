"""Audits of a classifier: from predictions, trained models, single candidates, weights."""
