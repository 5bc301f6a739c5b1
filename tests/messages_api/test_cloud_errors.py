"""What the clouds' libraries raise becomes one sentence that says what to do."""

from typing import Any

import pytest

from agent_tui.messages_api.errors import ApiError, map_exception
from agent_tui.messages_api.providers import Provider

SECRET = "secret-0123456789"


def raised(kind: str) -> BaseException:
    """An exception as the library itself makes it."""
    import azure.core.exceptions as azure
    import azure.identity as identity
    import botocore.exceptions as aws
    import google.auth.exceptions as google
    from anthropic import AnthropicError
    from anthropic.lib._extras._common import MissingDependencyError
    from anthropic.lib.credentials import WorkloadIdentityError

    made: dict[str, Any] = {
        "aws none": lambda: RuntimeError("Could not resolve AWS credentials from session"),
        "aws no credentials": aws.NoCredentialsError,
        "aws profile": lambda: aws.ProfileNotFound(profile="work"),
        "aws half": lambda: aws.PartialCredentialsError(
            provider="env", cred_var=f"AWS_SECRET {SECRET}"
        ),
        "aws sso": lambda: aws.UnauthorizedSSOTokenError(),
        "aws sso missing": lambda: aws.SSOTokenLoadError(error_msg="Token for work is gone"),
        "aws sso offline": lambda: aws.EndpointConnectionError(endpoint_url="https://oidc.aws"),
        "aws region": aws.NoRegionError,
        "google none": lambda: google.DefaultCredentialsError("Your default credentials...\nSee x"),
        "google refused": lambda: google.RefreshError(f"invalid_grant: {SECRET}", {"a": "b"}),
        "google offline": lambda: google.TransportError("Failed to resolve oauth2.googleapis.com"),
        "google project": lambda: ValueError("Could not resolve project_id"),
        "azure none": lambda: azure.ClientAuthenticationError("Default... failed\nAttempted\n" * 9),
        "azure unavailable": lambda: identity.CredentialUnavailableError("no"),
        "azure offline": lambda: azure.ServiceRequestError("Cannot connect"),
        "extra": lambda: MissingDependencyError(library="google-auth", extra="vertex"),
        "module": lambda: ModuleNotFoundError("No module named 'boto3'", name="boto3"),
        "client": lambda: AnthropicError("No workspace ID found. Set the `workspace_id` argument"),
        "exchange": lambda: WorkloadIdentityError(
            "Token exchange failed (HTTP 400): {'error': 'invalid_grant'}", status_code=400
        ),
        "exchange down": lambda: WorkloadIdentityError("down (HTTP 503)", status_code=503),
    }
    return made[kind]()


@pytest.mark.parametrize(
    ("kind", "provider", "error_kind", "words"),
    [
        ("aws none", "bedrock", "credentials", ["No AWS credentials", "AWS_ACCESS_KEY_ID"]),
        ("aws no credentials", "aws", "credentials", ["No AWS credentials", "aws_profile"]),
        ("aws profile", "bedrock", "credentials", ["work", "Correct aws_profile"]),
        ("aws half", "bedrock", "credentials", ["AWS credentials cannot be used"]),
        ("aws sso", "bedrock", "credentials", ["sign-in has ended", "aws sso login"]),
        ("aws sso missing", "bedrock-mantle", "credentials", ["is gone", "aws sso login"]),
        ("aws sso offline", "bedrock", "connection", ["oidc.aws", "did not answer"]),
        ("aws region", "bedrock", "setup", ["aws_region"]),
        ("google none", "vertex", "credentials", ["No usable Google", "gcloud auth"]),
        ("google refused", "vertex", "credentials", ["invalid_grant", "gcloud auth"]),
        ("google offline", "google-cloud", "connection", ["googleapis.com", "did not answer"]),
        ("google project", "vertex", "setup", ["no project", "google_project"]),
        ("azure none", "foundry", "credentials", ["Entra", "az login"]),
        ("azure unavailable", "foundry", "credentials", ["ANTHROPIC_FOUNDRY_API_KEY"]),
        ("azure offline", "foundry", "connection", ["Entra", "Cannot connect"]),
        ("extra", "vertex", "credentials", ["pip install 'agent-tui[vertex]'"]),
        ("module", "aws", "credentials", ["pip install 'agent-tui[aws]'"]),
        ("client", "aws", "setup", ["No workspace ID found", "aws_workspace"]),
        ("exchange", "anthropic", "credentials", ["invalid_grant", "ANTHROPIC_ variables"]),
        ("exchange down", "anthropic", "server", ["identity token failed"]),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_each_says_what_to_do(
    kind: str, provider: Provider, error_kind: str, words: list[str], wrapped: bool
) -> None:
    import anthropic
    import httpx2

    exc = raised(kind)
    if wrapped:
        inner = exc
        exc = anthropic.APIConnectionError(request=httpx2.Request("POST", "https://h.example/v1"))
        exc.__cause__ = inner
    error = map_exception(exc, secrets=[SECRET], provider=provider)
    said = str(error)
    assert isinstance(error, ApiError) and error.kind == error_kind
    assert all(word in said for word in words), said
    assert SECRET not in said and "\n" not in said and len(said) < 500
    assert error.retryable == (error_kind in ("connection", "server"))


def test_other_errors_are_left_to_their_own_words() -> None:
    assert "provider" not in str(map_exception(ValueError("odd"), provider="bedrock"))
    assert map_exception(TimeoutError(), provider="vertex").kind == "timeout"
