"""Finished audits side by side: a risk register, and the snippet of a model card."""
