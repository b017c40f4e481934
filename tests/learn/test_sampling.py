"""Learning by sampling against brute force over graphs, and its promises: resuming, rules, doubt."""

from __future__ import annotations
