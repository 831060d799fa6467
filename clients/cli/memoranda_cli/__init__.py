"""The command line: it talks HTTP to a Memoranda, and starts the embedded one."""
