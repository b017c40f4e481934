"""Posterior over paths: exact inference and sufficient statistics."""
