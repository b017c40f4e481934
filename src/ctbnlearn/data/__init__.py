"""From user tables to trajectories: variables, paths, observations, readers and writers."""
