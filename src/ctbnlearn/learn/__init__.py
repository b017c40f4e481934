"""The estimators people use."""
