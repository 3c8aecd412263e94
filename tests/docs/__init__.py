"""The documentation as tests: commands and snippets run, links lead somewhere, the reference is what the code says."""
