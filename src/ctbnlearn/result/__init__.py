"""What was learned: edge probabilities, parent sets, rates; saving, loading and exports."""
