"""doctor: what is wrong with a set-up, and a bundle of facts for whoever helps with it.

Rule 1: it changes nothing, on this machine or on the server; asking the metadata service is done so that it counts
for no VM.
Rule 2: it asks the control API where NOTBEFORE_URL says, and metadata listeners on loopback. Nothing else, unless
--probe names it.
Rule 3: a finding is one sentence, and says what to do.
"""
