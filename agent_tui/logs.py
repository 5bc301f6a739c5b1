"""Logging to a file under home()/logs with secrets masked; never to the screen."""
