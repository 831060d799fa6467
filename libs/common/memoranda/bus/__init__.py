"""Jobs as workers run them: publish, lease, sweep, and the broker they travel by."""
