"""Learning by sampling against brute force over graphs, and its promises: resuming, rules, doubt."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.graph_posterior import edge_posterior

import ctbnlearn as cl
