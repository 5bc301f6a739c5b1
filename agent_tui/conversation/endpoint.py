"""Which Messages API this conversation talks to. Interface first."""
