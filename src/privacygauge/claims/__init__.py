"""Claims of privacy: differential training privacy, audits of claims, defences, worst cases."""
