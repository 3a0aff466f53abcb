"""Differential training privacy (Long et al. 2017): what leaving one record out changes."""
