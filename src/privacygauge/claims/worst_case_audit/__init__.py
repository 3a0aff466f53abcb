"""Audits of trainings by their worst records: canaries."""
