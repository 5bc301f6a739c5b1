"""The face for screen readers and dumb terminals: plain lines, appended, nothing drawn again.
It holds a Conversation, says what happens in words, and reads line by line.
"""
