"""Public estimators."""
