"""The Messages API as the product speaks it: request, raw stream, assembler, errors.
The SDK is imported inside functions only (it costs seconds; first paint comes before).
"""
