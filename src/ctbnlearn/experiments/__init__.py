"""One module per figure or table of the paper, and the studies on measured data.

Every module offers an `EXPERIMENT` (see `frame`): a plan of cells, how to run one, a figure, and a comparison with the
paper whose sentences follow from the numbers. `protocol` states the settings all of them share.
"""
