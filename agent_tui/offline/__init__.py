"""A Messages API on loopback: strict request rules, a scripted guide, given scenarios.
Any SDK client can talk to it; it says that it is scripted.
"""
