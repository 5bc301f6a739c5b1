"""The zoo behind a gate: a server that wants OAuth, and the service that gives the tokens, on one
port. Standard library only."""

import json
import secrets
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.mcp_servers.zoo_http import HttpZoo, Visit


@dataclass
class Gate:
    """What the service knows and has seen. expires_in: of new tokens, in seconds."""

    expires_in: int = 3600
    denies: bool = False
    scope: str = ""
    scope_of_calls: str = ""
    token_path: str = "/deep/token"
    tokens: set[str] = field(default_factory=set)
    scopes: dict[str, str] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    registered: list[dict] = field(default_factory=list)
    authorized: list[dict[str, str]] = field(default_factory=list)
    grants: list[str] = field(default_factory=list)
    zoo: HttpZoo | None = None

    def __call__(self, visit: Visit) -> bool:
        path = urlsplit(visit.path).path
        match path:
            case "/mcp":
                return not self.let_in(visit)
            case "/register":
                client = json.loads(visit.body)  # type: ignore[attr-defined]
                self.registered.append(client)
                said = client | {"client_id": f"client-{len(self.registered)}"}
                visit.reply(201, json.dumps(said), "application/json")
            case "/authorize":
                self.authorize(visit)
            case self.token_path:
                self.token(visit)
            case _ if path.startswith("/.well-known/oauth-protected-resource"):
                base = self.base
                visit.reply(200, json.dumps({"resource": f"{base}/mcp",
                                             "authorization_servers": [base]}),
                            "application/json")  # fmt: skip
            case _ if path.startswith("/.well-known/oauth-authorization-server"):
                base = self.base
                visit.reply(200, json.dumps({
                    "issuer": base, "authorization_endpoint": f"{base}/authorize",
                    "token_endpoint": f"{base}{self.token_path}",
                    "registration_endpoint": f"{base}/register",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                }), "application/json")  # fmt: skip
            case _:
                visit.reply(404)
        return True

    @property
    def base(self) -> str:
        assert self.zoo is not None
        return self.zoo.base

    def let_in(self, visit: Visit) -> bool:
        token = visit.headers.get("authorization", "").removeprefix("Bearer ")
        metadata = f"{self.base}/.well-known/oauth-protected-resource/mcp"
        said = f'Bearer resource_metadata="{metadata}"'
        if token not in self.tokens:
            more = f', scope="{self.scope}"' if self.scope else ""
            visit.reply(401, www_authenticate=said + more)
            return False
        wanted = set(self.scope_of_calls.split())
        if b'"tools/call"' in visit.body and not wanted <= set(self.scopes[token].split()):  # type: ignore[attr-defined]
            more = f', error="insufficient_scope", scope="{self.scope_of_calls}"'
            visit.reply(403, www_authenticate=said + more)
            return False
        return True

    def authorize(self, visit: Visit) -> None:
        asked = {k: v[0] for k, v in parse_qs(urlsplit(visit.path).query).items()}
        self.authorized.append(asked)
        code = secrets.token_hex(4)
        self.codes[code] = asked
        said = {"error": "access_denied", "error_description": "The keeper said no."}
        query = urlencode((said if self.denies else {"code": code}) | {"state": asked["state"]})
        visit.reply(302, location=f"{asked['redirect_uri']}?{query}")

    def token(self, visit: Visit) -> None:
        body = {k: v[0] for k, v in parse_qs(visit.body.decode()).items()}  # type: ignore[attr-defined]
        self.grants.append(body["grant_type"])
        scope = body.get("scope", "")
        if body["grant_type"] == "client_credentials":
            basic = visit.headers.get("authorization", "").startswith("Basic ")
            good = basic or body.get("client_assertion", "").count(".") == 2
        elif body["grant_type"] == "authorization_code":
            scope = self.codes.get(body.get("code", ""), {}).get("scope", "")
            good = body.get("code") in self.codes and "code_verifier" in body
        else:
            good = body.get("refresh_token") in self.refresh_tokens
            self.refresh_tokens.discard(body.get("refresh_token", ""))
        if not good:
            visit.reply(400, '{"error": "invalid_grant"}', "application/json")
            return
        token, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.tokens.add(token)
        self.scopes[token] = scope
        self.refresh_tokens.add(refresh)
        said = {"access_token": token, "token_type": "bearer", "expires_in": self.expires_in,
                "refresh_token": refresh} | ({"scope": scope} if scope else {})  # fmt: skip
        visit.reply(200, json.dumps(said), "application/json")


def gated(**options) -> HttpZoo:
    """A server with a gate; `zoo.refuse` is the Gate."""
    gate = Gate(**options)
    gate.zoo = HttpZoo(refuse=gate)
    return gate.zoo


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def where_it_leads(url: str) -> str:
    """Where a browser is sent by the service's page."""
    try:
        urllib.request.build_opener(_NoRedirect).open(url, timeout=10)
    except urllib.error.HTTPError as answer:
        return answer.headers["location"]
    raise AssertionError("the service did not send the browser on")


def visit(url: str) -> str:
    """What a browser shows at an address."""
    with urllib.request.urlopen(url, timeout=10) as page:
        return page.read().decode()
