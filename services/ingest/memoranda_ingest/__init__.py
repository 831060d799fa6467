"""The ingest service: captured events become versions and chunks."""
