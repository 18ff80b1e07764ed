"""Ratios beside a baseline measured in the same run. `python -m benchmarks` runs all."""
