"""A conversation on disk: an append-only JSONL tree, continued after any crash.
One record, one write; a bad line costs only itself.
"""
