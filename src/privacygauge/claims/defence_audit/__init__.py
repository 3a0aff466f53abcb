"""Audits of defences of a classifier, compared under adaptive attackers."""
