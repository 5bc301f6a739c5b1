"""The faces without a screen: print (text, json, stream-json) and RPC.
They hold a Conversation and write its events.
"""
