"""The network itself: intensity matrices, graphs, random networks, simulation."""
