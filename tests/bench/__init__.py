"""What is timed, against whom. ``python -m tests.bench`` (``make bench``) runs all of it and prints one table."""
