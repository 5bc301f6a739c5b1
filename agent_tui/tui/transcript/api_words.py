"""Error codes of the API's own tools in words (an open set: a new code is shown as it is)."""

_WORDS = {
    "invalid_tool_input": "the tool refused its arguments",
    "unavailable": "the tool is not available now",
    "too_many_requests": "too many requests, try again later",
    "overloaded": "the tool is overloaded, try again later",
    "max_uses_exceeded": "it was used as often as the request allows",
    "query_too_long": "the query is too long",
    "request_too_large": "the request is too large",
    "prompt_too_long": "the conversation is too long for it",
    "url_too_long": "the address is too long",
    "url_not_allowed": "this address is not allowed",
    "url_not_in_prior_context": "only addresses that came up in the conversation may be fetched",
    "url_not_accessible": "the page could not be reached",
    "unsupported_content_type": "this kind of page cannot be read",
    "content_too_large": "the page is too large",
    "execution_time_exceeded": "it took too long and was ended",
    "output_file_too_large": "it wrote too large a file",
    "file_not_found": "there is no such file",
    "model_not_found": "there is no such model",
    "container_expired": "its container has expired",
}


def error_words(code: str) -> str:
    """A sentence for an error code; `brand_new_code` → "brand new code"."""
    return _WORDS.get(code) or code.replace("_", " ").strip() or "it failed without saying why"
