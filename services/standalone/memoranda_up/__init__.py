"""The embedded profile: every service and a private Postgres in one process."""
