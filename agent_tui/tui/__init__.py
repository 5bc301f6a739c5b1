"""The Textual face: transcript, panels, composer, queue, dialogs.
Everything foreign is shown through text.SafeText.
"""
