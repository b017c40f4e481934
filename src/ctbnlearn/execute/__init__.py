"""Where work runs: in this process, in several, or on a cluster; shards of trajectories and what is done to them."""
