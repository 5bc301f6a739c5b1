"""Whatever a model, a tool, a file, a server or the service says: nothing of it is obeyed by a
terminal, and nothing raises. `make fuzz` looks for longer."""
