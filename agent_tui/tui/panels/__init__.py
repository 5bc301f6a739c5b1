"""The side panel: tools timeline, container, loop, servers, context.
Each panel is one widget that draws a state.
"""
