"""One conversation: wires agent, model, tools, servers and session for a face.
Faces ask only through Conversation and listen to its events.
"""
