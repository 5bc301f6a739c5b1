"""make_stream_function: the product's StreamFunction over the Messages API.

Interface first; see request.py, stream.py and assembler.py for the parts.
"""

from agent_tui.agent.loop import StreamFunction
from agent_tui.messages_api.client import ApiEndpoint


def make_stream_function(endpoint: ApiEndpoint) -> StreamFunction:
    """A stream function bound to one endpoint; the client is made at the first call, in a thread.

    It yields StartEvent ... DoneEvent | ErrorEvent. Failures of the service are raised as
    errors.ApiError when nothing of the response had come, else they end the stream with an
    ErrorEvent that holds what came (error_type, error_message). It never retries
    (conversation/retry.py does).
    """
    raise NotImplementedError
