"""Advice: whether a proxy that splits connections pays on a path, where, and with which buffer (docs/split-tcp.md)."""

from __future__ import annotations
