"""Secrets are masked, the text around them stays. All values are put together at run time: none stands in this file."""

from __future__ import annotations

import base64
import json
import random
import string
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda_capture import Event, Heading, read
from memoranda_capture.redact import mask, mask_events
from tests.capture.builders import answer, meta, prompt, result, say, session

LETTERS, HEX, UPPER = string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_uppercase + string.digits
_DRAW = random.Random(7)


def drawn(length: int, alphabet: str = LETTERS) -> str:
    """Characters drawn by lot, the same in each run."""
    return "".join(_DRAW.choice(alphabet) for _ in range(length))


def joined(*parts: str) -> str:
    return "".join(parts)


PEM_BODY = "\n".join(drawn(64) for _ in range(12)) + "\n" + drawn(20) + "=="
BEGIN, END = joined("-----BEGIN ", "RSA PRIV", "ATE KEY-----"), joined("-----END ", "RSA PRIV", "ATE KEY-----")
PEM = f"{BEGIN}\n{PEM_BODY}\n{END}"
GITHUB = joined("gh", "p_", drawn(36))

TOKENS: list[tuple[str, str]] = [
    ("memoranda_token", joined("me", "m_", drawn(32))),
    ("aws_access_key", joined("AK", "IA", drawn(16, UPPER))),
    ("aws_access_key", joined("AS", "IA", drawn(16, UPPER))),
    ("github_token", GITHUB),
    ("github_token", joined("gh", "s_", drawn(36))),
    ("github_token", joined("github", "_pat_", drawn(22), "_", drawn(59))),
    ("gitlab_token", joined("gl", "pat-", drawn(20))),
    ("slack_token", joined("xo", "xb-", drawn(12, string.digits), "-", drawn(12, string.digits), "-", drawn(24))),
    ("slack_token", joined("xo", "xp-", drawn(12, string.digits), "-", drawn(24))),
    ("stripe_key", joined("sk", "_live_", drawn(24))),
    ("stripe_key", joined("wh", "sec_", drawn(32))),
    ("anthropic_key", joined("sk", "-ant-api03-", drawn(93), "AA")),
    ("openai_key", joined("sk", "-proj-", drawn(74))),
    ("openai_key", joined("sk", "-", drawn(48))),
    ("google_api_key", joined("AI", "za", drawn(35))),
    ("google_oauth_secret", joined("GOC", "SPX-", drawn(28))),
    ("google_access_token", joined("ya", "29.", drawn(120))),
    ("sendgrid_key", joined("S", "G.", drawn(22), ".", drawn(43))),
    ("twilio_key", joined("S", "K", drawn(32, HEX))),
    ("npm_token", joined("np", "m_", drawn(36))),
    ("pypi_token", joined("py", "pi-AgEIcHlwaS5vcmc", drawn(100))),
    ("discord_token", joined("M", drawn(25), ".", drawn(6), ".", drawn(38))),
    ("telegram_token", joined(drawn(10, "123456789"), ":A", drawn(34))),
    ("mailgun_key", joined("ke", "y-", drawn(32, HEX))),
    ("mailchimp_key", joined(drawn(32, HEX), "-us", "12")),
    ("huggingface_token", joined("h", "f_", drawn(34, string.ascii_letters))),
    ("digitalocean_token", joined("do", "p_v1_", drawn(64, HEX))),
    ("shopify_token", joined("shp", "at_", drawn(32, HEX))),
    ("square_token", joined("sq0", "csp-", drawn(43))),
    ("databricks_token", joined("da", "pi", drawn(32, HEX))),
    ("vault_token", joined("hv", "s.", drawn(90))),
    ("terraform_token", joined(drawn(14), ".atlas", "v1.", drawn(64))),
    ("docker_token", joined("dckr", "_pat_", drawn(27))),
    ("cloudflare_token", joined("cf", "ut_", drawn(48))),
    ("linear_key", joined("lin", "_api_", drawn(40))),
    ("notion_token", joined("nt", "n_", drawn(46))),
    ("postman_key", joined("PM", "AK-", drawn(24, HEX), "-", drawn(34, HEX))),
    ("grafana_token", joined("gl", "sa_", drawn(32), "_", drawn(8, HEX))),
    ("new_relic_key", joined("NR", "AK-", drawn(27, UPPER))),
    ("sentry_token", joined("sn", "tryu_", drawn(64, HEX))),
    ("atlassian_token", joined("AT", "ATT3", drawn(180))),
    ("azure_client_secret", joined(drawn(3), "8", "Q~", drawn(34))),
    ("age_key", joined("AGE-SECRET", "-KEY-1", drawn(58, UPPER))),
    ("jwt", joined("ey", "J", drawn(33), ".ey", "J", drawn(60), ".", drawn(43))),
    ("openrouter_key", joined("sk", "-or-v1-", drawn(64, HEX))),
    ("groq_key", joined("gs", "k_", drawn(52))),
    ("xai_key", joined("xa", "i-", drawn(80))),
    ("replicate_token", joined("r", "8_", drawn(37))),
    ("perplexity_key", joined("pp", "lx-", drawn(48))),
    ("figma_token", joined("fi", "gd_", drawn(40))),
    ("supabase_token", joined("sb", "p_", drawn(40, HEX))),
    ("netlify_token", joined("nf", "p_", drawn(36))),
    ("planetscale_token", joined("pscale", "_tkn_", drawn(43))),
    ("doppler_token", joined("d", "p.pt.", drawn(43))),
    ("pulumi_token", joined("pu", "l-", drawn(40, HEX))),
    ("rubygems_key", joined("ruby", "gems_", drawn(48, HEX))),
    ("tailscale_key", joined("ts", "key-auth-", drawn(12), "CNTRL-", drawn(32))),
    ("brevo_key", joined("xkey", "sib-", drawn(64, HEX), "-", drawn(16))),
    ("private_key", PEM),
]


@pytest.mark.parametrize(("kind", "token"), TOKENS, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(TOKENS)])
@pytest.mark.parametrize("around", ["{}", "see ({}), please", 'x = f("{}")\ny = 2', "é→{}\tß", '{{"note": "{}"}}', "`{}`"])
def test_a_token_is_masked_and_the_text_around_it_stays(kind: str, token: str, around: str) -> None:
    masked = mask(around.format(token))
    assert masked.text == around.format(f"[secret:{kind}]")
    assert masked.counts == {kind: 1}
    assert mask(masked.text).text == masked.text


def test_there_are_more_than_thirty_kinds() -> None:
    assert len({kind for kind, _ in TOKENS}) >= 35


VALUE = drawn(3, string.ascii_lowercase) + "9" + drawn(20) + "7"
PLACED: list[tuple[str, str, str]] = [
    ("url_password", "postgres://app:{}@db.internal:5432/app", "p4ss"),
    ("url_password", "postgres://u:{}@h", "p"),
    ("url_password", "redis://:{}@cache:6379/0", "s3same"),
    ("slack_webhook", "https://hooks.slack.com/services/{}", joined("T", drawn(9, UPPER), "/B", drawn(9, UPPER), "/", drawn(24))),
    ("discord_webhook", "https://discord.com/api/webhooks/123456789012345678/{}", drawn(68)),
    ("azure_key", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core", drawn(86) + "=="),
    ("azure_signature", "https://a.blob.core.windows.net/c?sv=2024&sig={}", drawn(43) + "%3D"),
    ("authorization", "Authorization: Bearer {}", VALUE),
    ("authorization", 'curl -H "Authorization: Basic {}" https://x', base64.b64encode(b"user:open-sesame").decode()),
    ("bearer", "sent with Bearer {} just now", VALUE),
    ("basic_auth", "curl -s -u deploy:{} https://ci.internal", "Tr0ub4dor"),
    ("aws_secret", "aws_key = '{}'", drawn(40)),
    ("secret", "export TOKEN={}", "correcthorse"),
    ("secret", "export API_TOKEN='{}'", VALUE),
    ("secret", "NPM_TOKEN={}", VALUE),
    ("secret", '{{"api_key": "{}"}}', VALUE),
    ("secret", "client_secret: {}", VALUE),
    ("secret", 'const apiKey = "{}";', VALUE),
    ("secret", "mytool --token {} run", VALUE),
    ("secret", "X-Api-Key: {}", VALUE),
    ("secret", 'secret_key: str = "{}"', VALUE),
    ("password", "DB_PASSWORD={}", "correcthorse"),
    ("password", "password: {}", "hunter22horse"),
    ("password", 'password = "{}"', "h7nter"),
    ("password", "psql --password={}", "opensesame"),
    ("password", 'Write {{"content":"DB_HOST=x\\nDB_PASSWORD={}\\nDEBUG=1"}}', "correcthorse"),
    ("password", '{{"command":"export DB_PASSWORD=\\"{}\\" && run"}}', "correct-horse"),
    ("password", "password={}", "Winter2024"),
    ("password", "password: {}", "Welcome123"),
    ("password", "spring.datasource.password={}", "Passw0rd123"),
    ("password", "password: {}", "Tr0ub4dor"),
    ("password", "<password>{}</password>", "correcthorse"),
    ("password", "<db:password encrypted='no'>{}</db:password>", "x7x7x7"),
    ("password", "machine git.internal login deploy password {}", "abcd12"),
    ("password", "machine git.internal\n  login deploy\n  password {}\nmachine other", "abcd12"),
    ("password", "mysql -u root -p{} shop", "S3same"),
    ("password", "mysqldump -uroot -p'{}' shop", "opensesame"),
    ("password", "db:\n  password: |\n    {}\n  port: 5432", "abcd1234efg"),
    ("secret", "client_secret: |-\n  {}\n", VALUE),
    ("cookie", "Cookie: theme=dark; sessionid={}; lang=en", "abc123def456"),
    ("cookie", "Set-Cookie: connect.sid={}; Path=/; HttpOnly", "s%3Aabcdefgh12345678"),
    ("cookie", "curl -H 'cookie: a=b; __Host-session={}; c=d' https://x", "abcdef1234567890"),
    ("cookie", '"Cookie": "PHPSESSID={}"', "abcd1234efgh5678"),
    ("basic_auth", '{{"auths":{{"https://index.docker.io/v1/":{{"auth":"{}"}}}}}}', base64.b64encode(b"user:open-sesame").decode()),
    ("github_token", "GITHUB_TOKEN={}", GITHUB),
    ("private_key", "key: {}", PEM.replace("\n", "\\n")),
    ("private_key", "{}\nThe file went on here.", f"{BEGIN}\n" + "\n".join(PEM_BODY.split("\n")[:5])),
    ("private_key", "{}", "\n".join(f"{n:6}→{row}" for n, row in enumerate(PEM.split("\n"), 1)).lstrip(" 1→")),
]


@pytest.mark.parametrize(("kind", "around", "value"), PLACED)
def test_a_secret_that_its_place_gives_away_is_masked_and_nothing_beside_it(kind: str, around: str, value: str) -> None:
    masked = mask(around.format(value))
    assert masked.text == around.format(f"[secret:{kind}]")
    assert masked.counts == {kind: 1}
    assert mask(masked.text).text == masked.text


@pytest.mark.parametrize(
    "line",
    [
        "export TOKEN=${GITHUB_TOKEN}", "TOKEN=$(op read op://vault/item)", "password: <your password>", "api_key = os.environ['API_KEY']",
        'password = "changeme"', "token: str", "token: Optional[str] = None", "token = get_token(1234567890)", "secret: SecretStr",
        'api_key="YOUR_API_KEY_HERE_123"', "PASSWORD=%s", 'password="********"', "https://user:${PASS}@host/x", "token = self.tokens[3]",
        "postgres://user:<password>@host/db", 'token_url = "https://auth.example.com/v2/token"', "max_tokens=128000", "Bearer $TOKEN",
        "<password>Passwort</password>", "<password>${db.password}</password>", "mysql -u root -p shop", "mysqldump --all -p$PW",
        "docker run mysql -p3306:3306", "Cookie: session=${SESSION}; auth=<token value>", "Set-Cookie: session=deleted; expires=Thu",
        '"auth": "required1234"', "password: Password", "token: Sha256Digest", "token = Base64Url22",
        "secret_path = /srv/Apps/memoranda/Secrets/2024/production", "token = someRatherLongVariable+anotherLongVariable",
        "Authorization: Bearer {token}", "password_hash = 5f4dcc3b5aa765d61d8327deb882cf99", "secrets.TOKEN_1", "https://{user}:{password}@host",
    ],
)  # fmt: skip
def test_placeholders_references_and_types_stay(line: str) -> None:
    assert mask(line).text == line


@pytest.mark.parametrize("before", ["", "token: ", "t:"])
def test_a_known_token_wrapped_in_base64_is_masked(before: str) -> None:
    wrapped = base64.b64encode(f"{before}{GITHUB}\n".encode()).decode()
    assert mask(f"data:\n  gh: {wrapped}\n").text == "data:\n  gh: [secret:github_token]\n"
    key = base64.b64encode(PEM.encode()).decode()
    assert mask(f"tls.key: {key}").text == "tls.key: [secret:private_key]"


@pytest.mark.parametrize(
    "around",
    [
        "aws_secret_access_key = {}", "export AWS_SECRET_ACCESS_KEY={}", "aws_session_token = {}", "AccountKey: {}", "client_secret: {}",
        "secret_key={}", 'client_secret = "{}"',
    ],
)  # fmt: skip
def test_hundreds_of_keys_drawn_from_base64_are_masked_whatever_signs_they_hold(around: str) -> None:
    draw = random.Random(11)
    for length in (40,) * 300 + (44, 88, 356):
        value = "".join(draw.choices(LETTERS + "+/", k=length))
        masked = mask(around.format(value)).text
        assert masked == around.format("[secret:secret]") or masked == around.format("[secret:aws_secret]")
        assert mask(masked).text == masked


def test_a_header_of_many_sessions_is_masked_at_once() -> None:
    names = [f"session_{n}" for n in range(12)]
    text = "Cookie: " + "; ".join(f"{name}={drawn(30)}7; x{name[-1]}=y" for name in names)
    masked = mask(text)
    assert masked.text == "Cookie: " + "; ".join(f"{name}=[secret:cookie]; x{name[-1]}=y" for name in names)
    assert mask(masked.text).text == masked.text


@pytest.mark.parametrize("piece", ["password='", f"see {BEGIN} here\n" + "plain text\n" * 20])
def test_time_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    def seconds(repeats: int) -> float:
        began = time.process_time()
        mask(piece * repeats)
        return time.process_time() - began

    seconds(10)
    assert seconds(16_000) < 25 * seconds(2_000) + 0.2


def test_many_secrets_in_one_long_line_are_all_masked() -> None:
    filler = " lorem ipsum" * 2_000 + " "
    text = filler.join([f'"token":"{VALUE}"', GITHUB, "ü" * 500, GITHUB])
    assert mask(text).text == filler.join(['"token":"[secret:secret]"', "[secret:github_token]", "ü" * 500, "[secret:github_token]"])


def test_text_without_a_secret_is_the_same_object() -> None:
    text = "def add(a, b):\n    return a + b\n"
    assert mask(text).text is text
    assert mask(text).counts == {}


@given(st.text())
def test_masking_any_text_never_raises_and_is_idempotent(text: str) -> None:
    once = mask(text)
    assert mask(once.text).text == once.text


@given(
    st.lists(
        st.sampled_from(
            [
                GITHUB,
                PEM,
                BEGIN,
                END,
                VALUE,
                "password",
                "token",
                "=",
                ":",
                " ",
                '"',
                "\\n",
                "\n",
                "://",
                "@",
                "u",
                "é",
                "[secret:",
                "]",
                "eyJ",
                ".",
            ]
        ),
        max_size=30,
    )
)
def test_masking_pieces_of_secrets_is_idempotent_and_bounded(parts: list[str]) -> None:
    text = "".join(parts)
    once = mask(text)
    assert mask(once.text).text == once.text
    assert len(once.text) <= 10 * len(text) + 100
    assert GITHUB not in once.text


@given(st.text(alphabet="abcdef ghij\nklm,.;()", max_size=500))
def test_text_without_anchors_is_identical(text: str) -> None:
    assert mask(text).text == text


def _texts(path: Path, counts: Counter[str] | None = None) -> list[str]:
    return [record.text for record in mask_events(read(path), counts) if isinstance(record, Event)]


@pytest.mark.parametrize("cut", [10, 20, 39])
def test_a_token_split_over_two_events_of_one_role_is_masked_in_both(tmp_path: Path, cut: int) -> None:
    counts: Counter[str] = Counter()
    path = session(
        tmp_path, prompt([result(f"token is {GITHUB[:cut]}", "a")], "u1"), prompt([result(f"{GITHUB[cut:]} it ends", "b")], "u2")
    )
    assert _texts(path, counts) == ["token is [secret:github_token]", "[secret:github_token] it ends"]
    assert counts == {"github_token": 1}


@pytest.mark.parametrize("cut", [len(BEGIN) + 1, 200, 330, len(PEM) - 8])
def test_a_private_key_split_over_two_events_of_one_role_is_masked_in_both(tmp_path: Path, cut: int) -> None:
    path = session(tmp_path, prompt([result("cat key\n" + PEM[:cut], "a")], "u1"), prompt([result(PEM[cut:] + "\ndone", "b")], "u2"))
    both = "".join(_texts(path))
    assert not [row for row in PEM_BODY.split("\n") if row in both or row[-8:] in both]
    assert both.startswith("cat key\n")
    assert both.endswith("\ndone")


def test_a_private_key_that_never_ends_is_masked_through_three_events(tmp_path: Path) -> None:
    rows = PEM_BODY.split("\n")
    thirds = [f"{BEGIN}\n" + "\n".join(rows[:4]) + "\n", "\n".join(rows[4:8]) + "\n", "\n".join(rows[8:12]) + "\nThat was it."]
    path = session(tmp_path, *(prompt([result(part, str(n))], f"u{n}") for n, part in enumerate(thirds)))
    assert _texts(path) == ["[secret:private_key]\n", "[secret:private_key]\n", "[secret:private_key]\nThat was it."]


def _chunks(*parts: str) -> list[str]:
    def event(at: int, text: str) -> Event:
        return Event(key=str(at), parent_key=None, role="tool", kind="tool_result", said_at=None, text=text, line=at)

    return [record.text for record in mask_events(event(at, part) for at, part in enumerate(parts)) if isinstance(record, Event)]


def test_a_token_split_over_three_events_is_masked_in_all() -> None:
    gap = "[secret:github_token]"
    assert _chunks(f"token is {GITHUB[:10]}", "", f"{GITHUB[10:]} it ends") == [f"token is {gap}", "", f"{gap} it ends"]
    assert _chunks(f"token is {GITHUB[:10]}", GITHUB[10:20], f"{GITHUB[20:]} it ends") == [f"token is {gap}", gap, f"{gap} it ends"]
    assert _chunks(f"is {GITHUB[:10]}", GITHUB[10:20], GITHUB[20:]) == [f"is {gap}", gap, gap]
    assert _chunks(f"{GITHUB[:10]}", "", "", f"{GITHUB[10:]} and {GITHUB[:12]}", "", GITHUB[12:]) == [
        gap,
        "",
        "",
        f"{gap} and {gap}",
        "",
        gap,
    ]


def test_a_private_key_goes_on_after_an_empty_event() -> None:
    said = _chunks("cat key\n" + PEM[:330], "", PEM[330:600], "\n", PEM[600:] + "\ndone")
    assert said == ["cat key\n[secret:private_key]", "", "[secret:private_key]", "\n", "[secret:private_key]\ndone"]


def test_many_small_events_come_through_in_order() -> None:
    parts = ["word" if at % 3 else "" for at in range(100)]
    assert _chunks(*parts) == parts


def test_events_of_two_roles_are_not_joined(tmp_path: Path) -> None:
    path = session(tmp_path, prompt("see gh"), answer(say("p_" + "is a prefix of thirty-six characters")))
    assert _texts(path) == ["see gh", "p_is a prefix of thirty-six characters"]


def test_the_heading_is_masked_too(tmp_path: Path) -> None:
    git = {"repository_url": "https://me:s3same@host/app.git"}
    path = session(tmp_path, meta(git=git), {"type": "event_msg", "payload": {"type": "user_message", "message": f"use {GITHUB}"}})
    heading = next(iter(mask_events(read(path))))
    assert isinstance(heading, Heading)
    assert heading.repository == "https://me:[secret:url_password]@host/app.git"
    assert heading.title == "use [secret:github_token]"


def test_a_session_full_of_secrets_gives_none_away(tmp_path: Path) -> None:
    path = session(tmp_path, *(prompt(json.dumps({"note": token}), f"u{at}") for at, (_, token) in enumerate(TOKENS)))
    said = "\n".join(_texts(path))
    assert not [kind for kind, token in TOKENS if token in said or json.dumps(token)[1:-1] in said]
