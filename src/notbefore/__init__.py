"""notbefore tells every VM what is about to happen to it, and waits for its word."""

__version__ = "0.1.0"
