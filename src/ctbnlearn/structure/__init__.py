"""From statistics to weights over parent sets: scores, priors, searches, metrics."""
