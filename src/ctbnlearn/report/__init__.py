"""Figures and the self-contained report page, drawn from plain arrays and tables."""
