"""The indexer: the text index of what was sealed."""
