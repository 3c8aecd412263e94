"""Seeded workloads, floors to compare with, and what measures them."""
