"""The demo: the life of a memory in five steps, each checked."""
