"""What really happens to a VM. Each adapter passes tests/contracts/test_executor_contract.py."""
