"""Who serves the model: the Anthropic API itself, and the clouds the SDK has a client for.

A table of what differs: the client's class, the environment variables its own chain of
credentials reads, what must be installed, what of the API it has. Source: the SDK's clients
(anthropic.lib.bedrock, vertex, google_cloud, aws, foundry); what each needs is checked here,
before anything is imported or sent.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal

from agent_tui.messages_api.errors import ApiError, CredentialError
from agent_tui.messages_api.model_names import plain_name

Provider = Literal[
    "anthropic", "bedrock", "bedrock-mantle", "vertex", "google-cloud", "aws", "foundry"
]


@dataclass(frozen=True, slots=True)
class Cloud:
    """Where on a cloud. None: what the environment or the cloud's own files say.

    region: an AWS region, a Google region or location. profile: of AWS's own files.
    workspace: an Anthropic workspace id. resource: of Microsoft Foundry.
    """

    region: str | None = None
    profile: str | None = None
    project: str | None = None
    workspace: str | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """What is true of one provider.

    client: the class in `anthropic`. settings: the prefix of its settings ("aws_region").
    variables: for each field of Cloud, the environment variables that fill it, first wins.
    keys: those that hold a key. extra, module: what to install, and how its presence shows.
    module_for_keys: it is needed with a key, too. lists_models, counts_tokens, has_files: the
    API has /v1/models, count_tokens, /v1/files. same_models: its model ids are Anthropic's.
    model_prefix: stands before Anthropic's id of a model here. advice: what to do about a
    refusal (401, 403, 404).
    """

    name: str
    client: str
    settings: str = ""
    base_url: str = "ANTHROPIC_BASE_URL"
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    keys: tuple[str, ...] = ()
    extra: str = ""
    module: str = ""
    module_for_keys: bool = False
    lists_models: bool = False
    counts_tokens: bool = True
    has_files: bool = False
    same_models: bool = False
    model_prefix: str = ""
    advice: str = ""


_AWS_REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
_AWS_ADVICE = (
    "Check the AWS credentials, the region, and that this account may use the model there."
)
_GOOGLE_ADVICE = (
    "Check the Google credentials, project and region, and that the project may use the model."
)

PROVIDERS: Mapping[Provider, ProviderFacts] = {
    "anthropic": ProviderFacts(
        "Anthropic API", "AsyncAnthropic", lists_models=True, has_files=True, same_models=True
    ),
    "bedrock": ProviderFacts(
        "Amazon Bedrock", "AsyncAnthropicBedrock", "aws", "ANTHROPIC_BEDROCK_BASE_URL",
        {"region": _AWS_REGION}, ("AWS_BEARER_TOKEN_BEDROCK",), "bedrock", "boto3",
        module_for_keys=True,  # the frames of its stream are read by botocore
        counts_tokens=False, model_prefix="global.anthropic.", advice=_AWS_ADVICE,
    ),
    "bedrock-mantle": ProviderFacts(
        "Amazon Bedrock (Mantle)", "AsyncAnthropicBedrockMantle", "aws",
        "ANTHROPIC_BEDROCK_MANTLE_BASE_URL", {"region": _AWS_REGION},
        ("AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_AWS_API_KEY"), "bedrock", "boto3",
        model_prefix="anthropic.", advice=_AWS_ADVICE,
    ),
    "vertex": ProviderFacts(
        "Vertex AI", "AsyncAnthropicVertex", "google", "ANTHROPIC_VERTEX_BASE_URL",
        {"region": ("CLOUD_ML_REGION",), "project": ("ANTHROPIC_VERTEX_PROJECT_ID",)},
        (), "vertex", "google.auth", advice=_GOOGLE_ADVICE,
    ),
    "google-cloud": ProviderFacts(
        "Claude on Google Cloud", "AsyncAnthropicGoogleCloud", "google",
        "ANTHROPIC_GOOGLE_CLOUD_BASE_URL",
        {
            "region": ("ANTHROPIC_GOOGLE_CLOUD_LOCATION",),
            "project": ("ANTHROPIC_GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT"),
            "workspace": ("ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID",),
        },
        (), "google-cloud", "google.auth",
        lists_models=True, has_files=True, same_models=True, advice=_GOOGLE_ADVICE,
    ),
    "aws": ProviderFacts(
        "Claude Platform on AWS", "AsyncAnthropicAWS", "aws", "ANTHROPIC_AWS_BASE_URL",
        {"region": _AWS_REGION, "workspace": ("ANTHROPIC_AWS_WORKSPACE_ID",)},
        ("ANTHROPIC_AWS_API_KEY",), "aws", "boto3",
        lists_models=True, has_files=True, same_models=True, advice=_AWS_ADVICE,
    ),
    "foundry": ProviderFacts(
        "Microsoft Foundry", "AsyncAnthropicFoundry", "foundry", "ANTHROPIC_FOUNDRY_BASE_URL",
        {"resource": ("ANTHROPIC_FOUNDRY_RESOURCE",)}, ("ANTHROPIC_FOUNDRY_API_KEY",),
        "foundry", "azure.identity", has_files=True,
        advice="Check the key, the resource, and that the model is deployed there by this name.",
    ),
}  # fmt: skip

_SHAPES = {
    # Region and resource become part of the host, so nothing else may stand in them (F08).
    "region": re.compile(r"[a-z0-9-]{1,40}"),
    "resource": re.compile(r"[A-Za-z0-9-]{1,64}"),
    "project": re.compile(r"[A-Za-z0-9.:-]{1,100}"),
    "workspace": re.compile(r"[A-Za-z0-9_-]{1,100}"),
    "profile": re.compile(r"[^\x00-\x1f\x7f]{1,200}"),
}


def default_model(provider: Provider, model: str) -> str:
    """The id under which this provider serves one of Anthropic's models, named as another
    provider names it; anything else is kept."""
    prefix = PROVIDERS[provider].model_prefix
    if model.startswith("claude-"):
        return prefix + model
    if not prefix and model.rpartition("anthropic.")[2].startswith("claude-"):
        return plain_name(model)
    return model


def where_set(provider: Provider, part: str) -> str:
    """The places that name this part of Cloud, for a sentence: "aws_region or AWS_REGION"."""
    facts = PROVIDERS[provider]
    variables = facts.variables.get(part, ())
    return " or ".join([f"{facts.settings}_{part}", *variables[:1]])


def check_provider(
    provider: Provider,
    cloud: Cloud,
    *,
    base_url: str | None,
    api_key: str | None,
    auth_token: str | None,
    signs_itself: bool = False,
) -> None:
    """Raises for what this provider cannot do without, naming what to set or install.

    base_url, api_key, auth_token, cloud: with the environment's values filled in.
    signs_itself: a header given by the user is the credential.

    Raises ApiError of kind "setup" (something is missing or malformed), CredentialError
    (a credential it has no use for, or a package that is not installed).
    """
    facts = PROVIDERS[provider]
    if provider == "anthropic":
        return
    for part, shape in _SHAPES.items():
        value = getattr(cloud, part)
        if value is not None and not shape.fullmatch(value):
            raise _missing(
                f"{where_set(provider, part)} does not look like a {part}: "
                "correct it; only letters, digits and hyphens stand in it."
            )
    _check_credential_kind(provider, api_key, auth_token, cloud)
    # Google's clients leave an Authorization header as it is; the others put theirs in its place.
    signed = signs_itself and facts.settings == "google"
    has_credential = bool(api_key or auth_token or signed)
    match provider:
        case "bedrock-mantle":
            if cloud.region is None and (base_url is None or not has_credential):
                raise _needs(provider, "region")
        case "aws":
            if cloud.workspace is None:
                raise _needs(provider, "workspace")
            if cloud.region is None and (base_url is None or not has_credential):
                raise _needs(provider, "region")
        case "vertex":
            for part in ("region", "project"):
                if getattr(cloud, part) is None:
                    raise _needs(provider, part)
        case "google-cloud":
            if cloud.workspace is None and base_url is None:
                raise _needs(provider, "workspace")
        case "foundry":
            if cloud.resource is None and base_url is None:
                raise _needs(provider, "resource")
            if cloud.resource is not None and base_url is not None:
                raise _missing(
                    "The provider foundry takes either a resource or a base URL: remove one of "
                    "foundry_resource (ANTHROPIC_FOUNDRY_RESOURCE) and base_url "
                    "(ANTHROPIC_FOUNDRY_BASE_URL)."
                )
        case _:
            pass
    if not (has_credential and not facts.module_for_keys) and not _installed(facts.module):
        raise missing_extra(provider)


def missing_extra(provider: Provider) -> CredentialError:
    """The error for a package that is not installed, with the command that installs it."""
    facts = PROVIDERS[provider]
    key = f", or set {facts.keys[0]}" if provider == "foundry" else ""
    return CredentialError(
        f"The provider {provider} needs {facts.module.partition('.')[0]}, which is not "
        f"installed: run {sys.executable} -m pip install 'agent-tui[{facts.extra}]'{key}."
    )


def _check_credential_kind(
    provider: Provider, api_key: str | None, auth_token: str | None, cloud: Cloud
) -> None:
    if provider in ("vertex", "google-cloud"):
        if api_key is not None:
            raise CredentialError(
                f"The provider {provider} takes no API key: remove api_key; it uses Google's "
                "own credentials, or an access token in auth_token."
            )
        return
    if auth_token is not None and provider != "foundry":
        raise CredentialError(
            f"The provider {provider} takes no auth_token: remove it; "
            "give a Bedrock or AWS key in api_key, or use AWS's own credentials."
        )
    if auth_token is not None and api_key is not None:
        raise CredentialError("Give either api_key or auth_token to foundry: remove one.")
    if api_key is not None and cloud.profile is not None:
        raise CredentialError(
            f"A key and the profile in aws_profile are both set for {provider}: remove one "
            f"(the key may come from {PROVIDERS[provider].keys[0]})."
        )


def _needs(provider: Provider, part: str) -> ApiError:
    return _missing(f"The provider {provider} needs a {part}: set {where_set(provider, part)}.")


def _missing(message: str) -> ApiError:
    return ApiError(message, kind="setup")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
