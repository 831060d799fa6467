"""The secrets that can be told by their own form: prefix, length and alphabet, as the issuers document them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

WORD = r"A-Za-z0-9_\-"
_STANDS_IN = r"[$%{*]|(?i:password|passwd|pass|pwd|secret|token|x{3,}|\.{3})@"
"""What documents write where a password would stand."""

_LEFT = r"(?<![A-Za-z0-9_])"


class Span(NamedTuple):
    """Where a secret stands in a text, and of which kind it is; ordered by place."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of secret.

    ``pattern`` finds it in a suspicious line and masks its group 'secret', or the whole match. ``anchors`` are strings of which the line
    must hold one before ``pattern`` runs. ``hint`` is what the prefilter looks for, in the syntax that RE2 and ``re`` share; it may find
    too much and must never find too little.
    """

    kind: str
    pattern: re.Pattern[str]
    anchors: tuple[str, ...]
    hint: str


def _format(kind: str, pattern: str, *anchors: str, hint: str = "") -> Format:
    return Format(kind, re.compile(_LEFT + pattern), anchors, hint or pattern)


FORMATS: tuple[Format, ...] = (
    _format("memoranda_token", rf"mem_[{WORD}]{{20,}}", "mem_", hint=rf"\bmem_[{WORD}]{{20}}"),
    _format(
        "aws_access_key",
        r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])",
        "AKIA",
        "ASIA",
        "ABIA",
        "ACCA",
        hint="A[KSBC][IC]A[0-9A-Z]{16}",
    ),
    _format("github_token", r"gh[opsur]_[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", hint="gh[opsur]_[A-Za-z0-9]{36}"),
    _format("github_token", r"github_pat_[A-Za-z0-9_]{22,255}", "github_pat_", hint="github_pat_[A-Za-z0-9_]{22}"),
    _format(
        "gitlab_token", rf"gl(?:pat|dt|ft|soat|rt|cbt|ptt|oas|agent|imt)-[{WORD}.]{{20,300}}", "gl", hint=rf"gl[a-z]{{2,5}}-[{WORD}]{{20}}"
    ),
    _format("slack_token", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}", "xox", hint="xox[abeoprs]-[A-Za-z0-9-]{10}"),
    _format("slack_token", r"xapp-[0-9]-[A-Za-z0-9-]{20,250}", "xapp-", hint="xapp-[0-9]-[A-Za-z0-9-]{20}"),
    _format(
        "slack_webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/_]{20,200})",
        "hooks.slack.com",
        hint=r"hooks\.slack\.com/[a-z]+/[A-Za-z0-9]",
    ),
    _format(
        "stripe_key",
        r"(?:[sr]k|whsec)_(?:live_|test_)?[A-Za-z0-9]{24,250}",
        "k_live_",
        "k_test_",
        "whsec_",
        hint="(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{20}",
    ),
    _format("anthropic_key", rf"sk-ant-[{WORD}]{{20,250}}", "sk-ant-", hint=rf"sk-ant-[{WORD}]{{20}}"),
    _format(
        "openai_key",
        rf"sk-(?:(?:proj|svcacct|admin)-[{WORD}]{{32,300}}|[A-Za-z0-9]{{32,64}}(?![{WORD}]))",
        "sk-",
        hint="sk-(?:(?:proj|svcacct|admin)-|[A-Za-z0-9]{32})",
    ),
    _format("google_api_key", rf"AIza[{WORD}]{{35}}(?![{WORD}])", "AIza", hint=rf"AIza[{WORD}]{{35}}"),
    _format("google_oauth_secret", rf"GOCSPX-[{WORD}]{{20,40}}", "GOCSPX-", hint=rf"GOCSPX-[{WORD}]{{20}}"),
    _format("google_access_token", rf"ya29\.[{WORD}]{{20,1000}}", "ya29.", hint=rf"ya29\.[{WORD}]{{20}}"),
    _format(
        "azure_key",
        r"(?:AccountKey|SharedAccessKey|SharedSecretValue|EndpointKey)=(?P<secret>[A-Za-z0-9+/]{30,100}={0,2})",
        "AccountKey=",
        "SharedAccessKey=",
        "SharedSecretValue=",
        "EndpointKey=",
        hint=r"(?:AccountKey|SharedAccessKey|SharedSecretValue|EndpointKey)=[A-Za-z0-9+/]{30}",
    ),
    _format("azure_signature", r"sig=(?P<secret>[A-Za-z0-9%+/]{40,100}(?:=|%3[Dd])?)", "sig=", hint="[?&;]sig=[A-Za-z0-9%+/]{40}"),
    _format("azure_client_secret", rf"[{WORD}.~]{{3}}[0-9]Q~[{WORD}.~]{{31,34}}", "Q~", hint=rf"[0-9]Q~[{WORD}.~]{{31}}"),
    _format("sendgrid_key", rf"SG\.[{WORD}]{{16,32}}\.[{WORD}]{{32,64}}", "SG.", hint=rf"SG\.[{WORD}]{{16,32}}\.[{WORD}]{{32}}"),
    _format("twilio_key", r"SK[0-9a-f]{32}(?![0-9A-Za-z])", "SK", hint="SK[0-9a-f]{32}"),
    _format("npm_token", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", "npm_", hint="npm_[A-Za-z0-9]{36}"),
    _format("pypi_token", rf"pypi-[{WORD}]{{50,300}}", "pypi-", hint=rf"pypi-[{WORD}]{{50}}"),
    _format(
        "discord_token",
        rf"[MNO][{WORD}]{{23,27}}\.[{WORD}]{{6}}\.[{WORD}]{{27,45}}(?![{WORD}])",
        ".",
        hint=rf"\.[{WORD}]{{6}}\.[{WORD}]{{27}}",
    ),
    _format(
        "discord_webhook",
        rf"discord(?:app)?\.com/api/webhooks/[0-9]{{15,22}}/(?P<secret>[{WORD}]{{40,100}})",
        "/api/webhooks/",
        hint="/api/webhooks/[0-9]",
    ),
    _format("telegram_token", rf"(?:bot)?(?P<secret>[0-9]{{8,10}}:A[{WORD}]{{34}})(?![{WORD}])", ":A", hint=rf"[0-9]:A[{WORD}]{{34}}"),
    _format("mailgun_key", r"key-[0-9a-f]{32}(?![0-9A-Za-z])", "key-", hint="key-[0-9a-f]{32}"),
    _format("mailchimp_key", r"[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z])", "-us", hint="[0-9a-f]-us[0-9]"),
    _format("huggingface_token", r"(?:hf|api_org)_[A-Za-z]{34,40}(?![A-Za-z0-9])", "hf_", "api_org_", hint="(?:hf|api_org)_[A-Za-z]{34}"),
    _format("digitalocean_token", r"do[opr]_v1_[0-9a-f]{64}", "_v1_", hint="do[opr]_v1_[0-9a-f]{64}"),
    _format("shopify_token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "shp", hint="shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _format(
        "square_token",
        rf"(?:sq0[a-z]{{3}}-[{WORD}]{{22,60}}|EAAA[{WORD}]{{60}})",
        "sq0",
        "EAAA",
        hint=rf"(?:sq0[a-z]{{3}}-[{WORD}]{{22}}|EAAA[{WORD}]{{60}})",
    ),
    _format("databricks_token", r"dapi[0-9a-f]{32}(?:-[0-9])?", "dapi", hint="dapi[0-9a-f]{32}"),
    _format("vault_token", rf"(?:hvs|hvb|hvr)\.[{WORD}]{{24,300}}", "hv", hint=rf"hv[sbr]\.[{WORD}]{{24}}"),
    _format("terraform_token", rf"[A-Za-z0-9]{{14}}\.atlasv1\.[{WORD}=]{{60,70}}", ".atlasv1.", hint=r"\.atlasv1\."),
    _format("docker_token", rf"dckr_(?:pat|oat)_[{WORD}]{{27,40}}", "dckr_", hint=rf"dckr_[a-z]{{3}}_[{WORD}]{{27}}"),
    _format(
        "cloudflare_token",
        rf"(?:v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{146}}|cf(?:ut|at|k)_[{WORD}]{{40,60}})",
        "v1.0-",
        "cfut_",
        "cfat_",
        "cfk_",
        hint=rf"(?:v1\.0-[0-9a-f]{{24}}-|cf(?:ut|at|k)_[{WORD}]{{40}})",
    ),
    _format("linear_key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}", "lin_", hint="lin_[a-z]+_[A-Za-z0-9]{32}"),
    _format(
        "notion_token",
        r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})(?![A-Za-z0-9])",
        "ntn_",
        "secret_",
        hint="(?:ntn_[A-Za-z0-9]{40}|secret_[A-Za-z0-9]{43})",
    ),
    _format("postman_key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-", hint="PMAK-[0-9a-f]{24}"),
    _format("grafana_token", r"gl(?:c|sa)_[A-Za-z0-9+/=_]{32,400}", "glc_", "glsa_", hint="gl(?:c|sa)_[A-Za-z0-9+/=_]{32}"),
    _format("new_relic_key", r"NR(?:AK|AL|II)-[A-Za-z0-9]{24,40}", "NR", hint="NR(?:AK|AL|II)-[A-Za-z0-9]{24}"),
    _format("sentry_token", r"sntry[us]_[A-Za-z0-9+/=_]{40,400}", "sntry", hint="sntry[us]_[A-Za-z0-9+/=_]{40}"),
    _format("atlassian_token", rf"ATATT3[{WORD}=]{{50,400}}", "ATATT3", hint=rf"ATATT3[{WORD}=]{{50}}"),
    _format("age_key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "AGE-SECRET-KEY-", hint="AGE-SECRET-KEY-1"),
    _format("openrouter_key", r"sk-or-v1-[0-9a-f]{64}(?![0-9A-Za-z])", "sk-or-v1-", hint="sk-or-v1-[0-9a-f]{64}"),
    _format("groq_key", r"gsk_[A-Za-z0-9]{52}(?![A-Za-z0-9])", "gsk_", hint="gsk_[A-Za-z0-9]{52}"),
    _format("xai_key", r"xai-[A-Za-z0-9]{80}(?![A-Za-z0-9])", "xai-", hint="xai-[A-Za-z0-9]{80}"),
    _format("replicate_token", r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])", "r8_", hint="r8_[A-Za-z0-9]{37}"),
    _format("perplexity_key", r"pplx-[A-Za-z0-9]{48,64}(?![A-Za-z0-9])", "pplx-", hint="pplx-[A-Za-z0-9]{48}"),
    _format("figma_token", rf"figd_[{WORD}]{{40,64}}", "figd_", hint=rf"figd_[{WORD}]{{40}}"),
    _format("supabase_token", r"sbp_(?:oauth_)?[0-9a-f]{40}(?![0-9A-Za-z])", "sbp_", hint="sbp_(?:oauth_)?[0-9a-f]{40}"),
    _format("netlify_token", r"nfp_[A-Za-z0-9]{36,60}(?![A-Za-z0-9])", "nfp_", hint="nfp_[A-Za-z0-9]{36}"),
    _format(
        "planetscale_token",
        rf"pscale_(?:tkn|pw|oauth)_[{WORD}.=]{{32,64}}",
        "pscale_",
        hint=rf"pscale_(?:tkn|pw|oauth)_[{WORD}.=]{{32}}",
    ),
    _format(
        "doppler_token",
        rf"dp\.(?:pt|ct|sa|scim|audit|st(?:\.[{WORD}]{{2,35}})?)\.[A-Za-z0-9]{{40,44}}(?![A-Za-z0-9])",
        "dp.",
        hint=rf"dp\.[a-z]{{2,5}}\.[{WORD}.]{{40}}",
    ),
    _format("pulumi_token", r"pul-[0-9a-f]{40}(?![0-9A-Za-z])", "pul-", hint="pul-[0-9a-f]{40}"),
    _format("rubygems_key", r"rubygems_[0-9a-f]{48}(?![0-9A-Za-z])", "rubygems_", hint="rubygems_[0-9a-f]{48}"),
    _format(
        "tailscale_key",
        r"tskey-[a-z]{2,12}-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{16,64}",
        "tskey-",
        hint="tskey-[a-z]{2,12}-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{16}",
    ),
    _format("brevo_key", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}(?![A-Za-z0-9])", "xkeysib-", hint="xkeysib-[0-9a-f]{64}"),
    _format("jwt", rf"eyJ[{WORD}]{{10,}}\.[{WORD}]{{10,}}(?:\.[{WORD}]*)*", "eyJ", hint=rf"eyJ[{WORD}]{{10,}}\.[{WORD}]{{10}}"),
    Format(
        "url_password",
        re.compile(rf"://[^\s:/@\"'<>`\\]{{0,200}}:(?!{_STANDS_IN})(?P<secret>[^\s/\"'<>`\\]{{1,500}})@(?=[\w\[.$%{{-])"),
        ("://",),
        r"://[^\s:/@\"'<>`\\]*:[^\s/\"'<>`\\]+@",
    ),
    Format(
        "authorization",
        re.compile(
            r"(?i:authorization)(?:\\?[\"'])?\s{0,4}[:=,]\s{0,4}(?:\\?[\"'])?(?i:bearer|basic|token|digest|apikey)\s{1,4}"
            r"(?P<secret>[A-Za-z0-9._~+/=:-]{6,8000})"
        ),
        ("uthorization", "UTHORIZATION"),
        r"(?i:authorization)\W{1,8}(?i:bearer|basic|token|digest|apikey)\s+[A-Za-z0-9._~+/=:-]{6}",
    ),
    Format(
        "bearer",
        re.compile(r"\b[Bb]earer\s{1,4}(?P<secret>(?=[A-Za-z._~+/=-]{0,100}[0-9])[A-Za-z0-9._~+/=-]{20,8000})"),
        ("earer",),
        r"[Bb]earer\s+[A-Za-z0-9._~+/=-]{20}",
    ),
    Format(
        "basic_auth",
        re.compile(r"\bcurl\b[^\n]{0,500}?\s(?:-u|--user)[ =](?:\\?[\"'])?[\w.@+-]{1,100}:(?P<secret>[^\s\"'\\$<{]{3,200})"),
        ("curl",),
        r"\bcurl\b[^\n]*\s(?:-u|--user)[ =]\\?[\"']?[\w.@+-]+:[^\s\"'\\$<{]{3}",
    ),
)
"""From the issuers' documents and the public rule sets (detect-secrets, gitleaks); most specific first."""


COOKIE_HINT = (
    r"(?i:cookie)\\?[\"']?:\s{0,4}(?:\\?[\"'])?[^\n\"'`]*(?i:sess|sid|auth|token|jwt|remember|csrf|xsrf)[A-Za-z0-9_.-]*=[^\s;\"'`]{8}"
)
"""What the prefilter looks for on behalf of ``_cookies``: it runs to the last session in the header, so that one region holds them all."""

_COOKIES = re.compile(r"cookie\\?[\"']?:(?P<pairs>\s{0,4}(?:\\?[\"'])?[^\n\"'`]*)", re.IGNORECASE)
_SESSION = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]{1,100})=(?P<secret>(?![$%{*<\[(])(?=[^;]{0,100}[0-9]|[^;]{20})[^\s;\"'`\\<>\[(){}]{8,8000})(?=[\s;\"'`\\]|\Z)"
)
_SESSION_NAME = re.compile(r"sess|sid|auth|token|jwt|remember|csrf|xsrf", re.IGNORECASE)


def spans(line: str) -> Iterator[Span]:
    """Yields where the formats find a secret in one line."""
    yield from _cookies(line)
    for format_ in FORMATS:
        if any(anchor in line for anchor in format_.anchors):
            for match in format_.pattern.finditer(line):
                yield Span(*match.span("secret" if "secret" in format_.pattern.groupindex else 0), format_.kind)


def _cookies(line: str) -> Iterator[Span]:
    """The values of the cookies that by their names hold a session; the other cookies of the header stay."""
    for header in _COOKIES.finditer(line):
        at = header.start("pairs")
        for pair in header["pairs"].split(";"):
            cookie = _SESSION.match(line, at + len(pair) - len(pair.lstrip(" \t\\\"'")))
            if cookie and _SESSION_NAME.search(cookie["name"]):
                yield Span(*cookie.span("secret"), "cookie")
            at += len(pair) + 1
