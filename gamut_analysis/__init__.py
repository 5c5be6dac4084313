"""Analysis and reporting for GAMUT, a benchmark of factual completeness in long-form answers."""

__version__ = "0.1.0"
