"""The door to detect-secrets: the expressions of its plugins, each behind the strings that its findings must hold, and its entropy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import cast

from memoranda_capture.token_formats import Span

HINTS: tuple[str, ...] = (
    r"A3T[A-Z0-9]{17}",
    r"[\s=:\"]AKC[a-zA-Z0-9]{10}",
    r"(?i:aws)[^\n]{0,60}[\"'][0-9a-zA-Z/+]{40}[\"']",
    r"(?i:cloudant|softlayer|hmac|ibm|bluemix)[^\n]{0,60}[A-Za-z0-9_-]{40}",
    r"GR1348941",
)
"""What the prefilter looks for on behalf of these plugins, beyond what the token formats already look for."""

_SHORTEST = 16
"""Characters. A group of a plugin's expression that is shorter is a prefix or a scheme, and the whole match is the secret."""


_AROUND = " \t\r\n=:\"'"


@dataclass(frozen=True, slots=True)
class _Detector:
    kind: str
    anchors: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]


def spans(line: str) -> Iterator[Span]:
    """Yields where plugins find a secret in one line. Nothing is verified with the issuer: no network is used."""
    lower = line.lower()
    for detector in _detectors():
        if any(anchor in lower for anchor in detector.anchors):
            for pattern in detector.patterns:
                for match in pattern.finditer(line):
                    yield Span(*_bare(line, *_longest(match)), detector.kind)


def _longest(match: re.Match[str]) -> tuple[int, int]:
    groups = [match.span(number) for number in range(1, match.re.groups + 1)]
    start, end = max(groups, key=lambda span: span[1] - span[0], default=match.span())
    return (start, end) if end - start >= _SHORTEST else match.span()


def _bare(line: str, start: int, end: int) -> tuple[int, int]:
    """Without the signs around the secret that some expressions take along."""
    found = line[start:end]
    return start + len(found) - len(found.lstrip(_AROUND)), end - len(found) + len(found.rstrip(_AROUND))


def entropy(text: str) -> float:
    """Shannon's entropy in bits a character over the base64 alphabet, as detect-secrets computes it."""
    return _entropy().calculate_shannon_entropy(text)


@cache
def _entropy():
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString

    return Base64HighEntropyString()


@cache
def _detectors() -> tuple[_Detector, ...]:
    """Imported late: the plugins bring an HTTP client along, for checks that are never made here."""
    from detect_secrets.plugins import (
        artifactory,
        aws,
        cloudant,
        github_token,
        gitlab_token,
        ibm_cloud_iam,
        ibm_cos_hmac,
        openai,
        pypi_token,
        sendgrid,
        slack,
        softlayer,
        square_oauth,
        stripe,
    )

    def detector(kind: str, denylist: object, *anchors: str) -> _Detector:
        return _Detector(kind, anchors, tuple(cast("Iterable[re.Pattern[str]]", denylist)))

    return (
        detector("aws_secret", aws.AWSKeyDetector.denylist, "aws", "akia", "asia", "a3t"),
        detector("artifactory_key", artifactory.ArtifactoryDetector.denylist, "akc"),
        detector("cloudant_key", cloudant.CloudantDetector.denylist, "cloudant"),
        detector("github_token", github_token.GitHubTokenDetector.denylist, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        detector("gitlab_token", gitlab_token.GitLabTokenDetector.denylist, "gl", "gr1348941"),
        detector("ibm_key", ibm_cloud_iam.IbmCloudIamDetector.denylist, "ibm", "bluemix"),
        detector("ibm_key", ibm_cos_hmac.IbmCosHmacDetector.denylist, "hmac"),
        detector("openai_key", openai.OpenAIDetector.denylist, "t3blbkfj"),
        detector("pypi_token", pypi_token.PypiTokenDetector.denylist, "pypi-"),
        detector("sendgrid_key", sendgrid.SendGridDetector.denylist, "sg."),
        detector("slack_token", slack.SlackDetector.denylist, "xox"),
        detector("softlayer_key", softlayer.SoftlayerDetector.denylist, "softlayer"),
        detector("square_token", square_oauth.SquareOAuthDetector.denylist, "sq0csp-"),
        detector("stripe_key", stripe.StripeDetector.denylist, "k_live_"),
    )
