"""Deliberate faults, put into copies of the code one at a time: the tests have to notice each."""
