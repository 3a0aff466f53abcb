"""Additions to PrivacyGauge, each named by an entry point."""
