"""Dialogs and pickers.
They never take a key meant for the composer.
"""
