"""The faces without a screen."""
