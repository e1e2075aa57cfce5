"""What travels between a VM and the service, per api-version. Shared by server and client so that they cannot drift.

Standard library only: it ships into VMs.
"""
