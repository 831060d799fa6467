"""The commands by theme. Each imports what it needs when it runs, so that ``memoranda --help`` is quick."""
