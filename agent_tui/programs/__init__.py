"""Sandboxes that run model-written Python and pause at host calls.
Used by the offline server and by the local program tool.
"""
