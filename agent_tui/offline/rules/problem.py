"""ApiProblem: an error as the Messages API answers it."""

from dataclasses import dataclass, field
from typing import Any

STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
TYPE_OF_STATUS = {status: type_ for type_, status in STATUS_OF_TYPE.items()}


@dataclass(slots=True, frozen=True)
class ApiProblem:
    """message: the service's words, beginning with the path ("messages.3.content.0: ...").

    rule: the name in RULES for a breach of a request rule, else "".
    """

    message: str
    type: str = "invalid_request_error"
    status: int = 400
    rule: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def as_json(self, request_id: str) -> dict[str, Any]:
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": request_id}
