"""The checks, by noun: a module each, with its `chapter`."""
