"""Tidings: location-aware publish/subscribe. Standing subscriptions of words and place, matched as messages come."""

from tidings.kernels import prepare

__version__ = "0.1.0"

prepare()
