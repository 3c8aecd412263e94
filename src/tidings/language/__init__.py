"""Expressions over words: the grammar, the parser, the printer and the normal form that the indexes are built on."""
