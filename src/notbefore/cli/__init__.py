"""The command line: `notbefore …`. One noun per file; main.py puts them together.

Rule 1: exit codes are 0 done, 1 refused or failed (a sentence on stderr), 2 wrong usage. No traceback, ever.
Rule 2: a client command imports nothing of the server, so that it starts fast; `serve` imports it when called.
"""
