"""Audits of differential training privacy: each record left out."""
