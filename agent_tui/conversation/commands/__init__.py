"""Slash commands, a file per family; a command returns data (CommandResult).
A face registers its own (such as /keys).
"""
