"""The tour: a few lines above the composer that name a key, and go on once its thing is done.
steps.py is all that it says; it takes no key of the composer.
"""
