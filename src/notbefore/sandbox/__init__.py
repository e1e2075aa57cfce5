"""The link-local address without set-up: a server and whatever is tested, alone with each other in a private network.

Rule 1: everything lives in namespaces of this process and its children, so it is gone when they are.
Rule 2: no root is needed where the kernel gives user namespaces; where it does not, a sentence says what to do.
Rule 3: the network outside is never touched: its 169.254.169.254 is not ours.
Called by: cli/sandbox.py. Not here: what the server does.
"""
