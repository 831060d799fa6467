"""The graph projection: its lane is kept and consumed; no job goes there yet."""
