"""Differential training privacy (Long et al. 2017): the effect of leaving one record out."""
