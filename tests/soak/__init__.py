"""The installed program under load: killed at every moment, and driven at random."""
