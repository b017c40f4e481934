"""Kinds of data that learners take."""

from __future__ import annotations

from typing import TypeAlias

from ctbnlearn.data.observations import Observations
from ctbnlearn.data.paths import Paths
from ctbnlearn.data.table_scan import TableScan

Incomplete: TypeAlias = Observations | TableScan
Data: TypeAlias = Paths | Observations | TableScan
