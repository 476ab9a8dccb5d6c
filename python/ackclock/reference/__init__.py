"""Congestion controllers as their standards write them, in Python, to be read.

Each is the law of one algorithm in the symbols of its source; the engine's frame (`ackclock.WindowBased`) does what
they have in common, but for Prague, which has its own. A scenario uses one by name,
``cc = "python:ackclock.reference:Reno"``. They are tested to decide exactly as the engine's own controllers do, event
by event.
"""

from ackclock.reference.cubic import Cubic
from ackclock.reference.highspeed import HighSpeed
from ackclock.reference.prague import Prague
from ackclock.reference.reno import Reno
from ackclock.reference.vegas import Vegas
from ackclock.reference.westwood import WestwoodPlus

__all__ = ["Cubic", "HighSpeed", "Prague", "Reno", "Vegas", "WestwoodPlus"]
