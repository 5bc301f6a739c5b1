"""What the clouds' own libraries raise, as an ApiError with what the user can do.

Told by the module that defines the exception, since none of these libraries need be installed:
botocore (AWS), google.auth (Google), azure (Microsoft), and the SDK's token exchange.
"""

from collections.abc import Iterable, Sequence

from agent_tui.messages_api.connection_errors import causes
from agent_tui.messages_api.errors import ApiError, CredentialError, clean
from agent_tui.messages_api.providers import PROVIDERS, Provider, missing_extra

_AWS = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, sign in with `aws sso login`, "
    "or name a profile in aws_profile."
)
_GOOGLE = (
    "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS "
    "to a key file."
)
_ENTRA = "Set ANTHROPIC_FOUNDRY_API_KEY, or sign in with `az login`."
_UNREACHED = (
    "ConnectionError", "EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError",
    "ProxyConnectionError", "ConnectionClosedError", "TransportError", "ServiceRequestError",
    "ServiceRequestTimeoutError", "ServiceResponseError",
)  # fmt: skip
"""Names of exceptions that say: the place that gives credentials did not answer."""

_SAID = 200
"""Longest text taken over from such a library, in characters; Azure writes pages."""


def cloud_error(
    exc: BaseException, provider: Provider, secrets: Sequence[str] = ()
) -> ApiError | None:
    """The ApiError for a missing package, or for credentials that cannot be had; None for
    anything else."""
    for cause in causes(exc):
        found = _of(cause, provider, secrets)
        if found is not None:
            return found
    return None


def _of(exc: BaseException, provider: Provider, secrets: Sequence[str]) -> ApiError | None:
    kind = type(exc)
    home = kind.__module__.partition(".")[0]
    said = _said(exc, secrets)
    if kind.__name__ == "MissingDependencyError" or (
        isinstance(exc, ModuleNotFoundError) and provider != "anthropic"
    ):
        return missing_extra(provider)
    if home == "botocore":
        return _aws(kind.__name__, said)
    if isinstance(exc, RuntimeError) and "AWS credentials" in said:
        return CredentialError("No AWS credentials were found.", advice=_AWS)
    if kind.__module__.startswith("google.auth"):
        return _google(kind.__name__, said)
    if home == "azure":
        return _azure(kind.__name__, said)
    if home == "anthropic" and provider != "anthropic":
        return _client(kind, said, provider)
    if kind.__name__ == "WorkloadIdentityError":
        return _token_exchange(exc, said)
    if isinstance(exc, ValueError | RuntimeError) and provider != "anthropic":
        return _configuration(said, provider)
    return None


def _aws(name: str, said: str) -> ApiError:
    if name in _UNREACHED:
        return _unreached("AWS", said)
    match name:
        case "NoCredentialsError":
            return CredentialError("No AWS credentials were found.", advice=_AWS)
        case "ProfileNotFound":
            return CredentialError(f"{said}.", advice="Correct aws_profile or AWS_PROFILE.")
        case "NoRegionError":
            return ApiError("No AWS region was found.", kind="setup",
                            advice="Set aws_region or AWS_REGION.")  # fmt: skip
        case (
            "SSOTokenLoadError" | "UnauthorizedSSOTokenError" | "TokenRetrievalError"
            | "LoginTokenLoadError" | "SSOError"
        ):  # fmt: skip
            return CredentialError(
                f"The AWS sign-in has ended: {said}.", advice="Run `aws sso login`."
            )
        case _:
            return CredentialError(f"The AWS credentials cannot be used: {said}.", advice=_AWS)


def _google(name: str, said: str) -> ApiError:
    if name in _UNREACHED:
        return _unreached("Google", said)
    if name == "DefaultCredentialsError":
        return CredentialError("No usable Google credentials were found.", advice=_GOOGLE)
    return CredentialError(f"The Google credentials cannot be used: {said}.", advice=_GOOGLE)


def _azure(name: str, said: str) -> ApiError:
    if name in _UNREACHED:
        return _unreached("Microsoft Entra", said)
    return CredentialError("No Microsoft Entra credentials could be used.", advice=_ENTRA)


def _unreached(whose: str, said: str) -> ApiError:
    return ApiError(
        f"The place that gives {whose} credentials did not answer: {said}.", kind="connection"
    )


def _client(kind: type[BaseException], said: str, provider: Provider) -> ApiError | None:
    """The SDK's client of a cloud refuses its arguments or the environment."""
    names = [base.__name__ for base in kind.__mro__]
    if "APIError" in names or "AnthropicError" not in names:
        return None
    return ApiError(f"The provider {provider} cannot be used: {said}.", kind="setup",
                    advice=_places(provider))  # fmt: skip


def _configuration(said: str, provider: Provider) -> ApiError | None:
    if "project" in said:
        return ApiError(f"The provider {provider} found no project.", kind="setup",
                        advice=_places(provider, ("project",)))  # fmt: skip
    if "region" in said:
        return ApiError(f"The provider {provider} found no region.", kind="setup",
                        advice=_places(provider, ("region",)))  # fmt: skip
    if "credential" in said.lower() or "token" in said.lower():
        return CredentialError(f"The provider {provider} found no credential: {said}.",
                               advice=PROVIDERS[provider].advice)  # fmt: skip
    return None


def _places(provider: Provider, parts: Iterable[str] | None = None) -> str:
    facts = PROVIDERS[provider]
    wanted = facts.variables if parts is None else parts
    names = [f"{facts.settings}_{part}" for part in wanted]
    return f"Set {' and '.join(names)}." if names else ""


def _token_exchange(exc: BaseException, said: str) -> ApiError:
    status = getattr(exc, "status_code", None)
    if isinstance(status, int) and (status >= 500 or status == 429):
        return ApiError(f"The exchange of the identity token failed: {said}.", kind="server",
                        status=status)  # fmt: skip
    return CredentialError(
        f"The identity token was not accepted: {said}.",
        advice="Check the ANTHROPIC_ variables of the workload identity, or the profile.",
    )


def _said(exc: BaseException, secrets: Sequence[str]) -> str:
    first = next((line for line in str(exc).splitlines() if line.strip()), type(exc).__name__)
    text = clean(first, secrets).rstrip(". ")
    return text if len(text) <= _SAID else text[: _SAID - 1].rstrip() + "…"
