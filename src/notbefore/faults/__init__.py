"""Faults that somebody orders: the tricks that the real service plays, at the edges and nowhere else.

fault.py has the kinds as a table, book.py those that are set and whom they strike, watch.py the events they strike;
documents.py changes what is shown, hand.py asks as an operator would, executor.py what is carried out.
What they do to answers is metadata/faulty.py's. Made by wiring.py, and only with `serve --allow-faults`.
"""
