"""The gateway: REST and MCP over the store, with no memory of its own."""
