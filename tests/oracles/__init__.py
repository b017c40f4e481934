"""Exact references that share no code with the package's engines."""
