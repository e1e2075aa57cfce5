"""Scenarios: readable steps on the clock, with what VMs are expected to see, played on an emulator of their own.

Rule 1: a file is read whole before anything is played; what is wrong in it is said with file, line and what was
expected there.
Rule 2: what is asked as a VM is asked over the real wire, from that VM's own listener.
Rule 3: between two lines the clock goes from due time to due time, so each line is at its time exactly.
Files: reading.py and what it uses; the built-in ones: library.py; playing: playing.py on an emulator.py.
Called by: cli/play.py. Not here: how it looks on a terminal.
"""
