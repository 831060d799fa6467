"""Lines of ordinary work in which there is no secret, though many look or sound as if there were one."""

LINES = r"""
from secrets import token_bytes, token_hex, token_urlsafe
import { getToken, setToken } from "./auth/token";
token = get_token()
token = request.headers.get("Authorization")
token = self.token
token: str
token: str | None = None
token: Optional[Token] = None
def login(user: str, password: str) -> Token:
def login(user, password=None, *, token=None):
password = getpass.getpass("Password: ")
password = input("Enter your password: ")
if password != confirm_password:
if not secrets.compare_digest(token, expected_token):
api_key = os.environ["OPENAI_API_KEY"]
api_key = os.getenv("API_KEY", "")
apiKey: process.env.API_KEY,
const token = await getToken();
const { token, secret } = props;
let secret = Secret::new(value);
let token = tokens.next().unwrap();
let password = rpassword::prompt_password("Password: ")?;
var password string
password := os.Getenv("DB_PASSWORD")
token, err := jwt.Parse(raw, keyFunc)
Token token = lexer.nextToken();
private final String password;
String password = config.getString("db.password");
@Value("${db.password}") private String password;
public string Password { get; set; }
string token = Request.Headers["X-Token"];
$password = $_POST['password'];
$token = csrf_token();
password: ${DB_PASSWORD}
password: {{ .Values.db.password }}
token: ${{ secrets.GITHUB_TOKEN }}
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
secretKeyRef:
  name: db-credentials
  key: password
secretName: tls-certificate
type: kubernetes.io/service-account-token
export TOKEN=$(gcloud auth print-access-token)
export PASSWORD="$1"
TOKEN=${TOKEN:-}
PASSWORD=$(cat /run/secrets/db_password)
--password-file /run/secrets/db
--token "$TOKEN"
--secret id=npmrc,src=$HOME/.npmrc
curl -H "Authorization: Bearer $TOKEN" https://api.example.com
curl -u "$USER:$PASSWORD" https://ci.example.com
docker run -u 1000:1000 --rm image
chown -R app:app /srv
Authorization: Bearer <token>
The bearer token must be sent with each request.
Bearer authentication is required for this endpoint
Basic authentication is disabled.
<input type="password" name="password" placeholder="Password" autocomplete="current-password">
<label for="password">Password:</label>
"password": "Passwort",
"password": "Mot de passe",
"forgotPassword": "Forgot your password?",
"token_type": "bearer",
"max_tokens": 4096,
"input_tokens": 18234, "output_tokens": 512,
max_tokens=128000
cache_creation_input_tokens: 20391
token_count = 0
tokens = tokenizer.encode(text)
num_tokens = len(tokens)
tokens_per_second: 41.7
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
tokenize("a b c", sep=" ")
CSRF token missing or incorrect.
Invalid token: unexpected end of input at position 1204
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
error: unexpected token `}` in expression
token_endpoint = "https://login.example.com/oauth2/v2.0/token"
password_hash = bcrypt.hashpw(raw, bcrypt.gensalt())
password_hash: $2b$12$abcdefghijklmnopqrstuv
assert user.password_hash != "password"
secret_name = "database-credentials"
secret = fetch_secret(name="database")
Secret Santa is on Friday
The secret: keep functions short.
the password is the one that you chose
password: string;
password?: string;
token: string;
token: Uint8Array
token: uint256
secret: Buffer.from(secret, "hex")
secret: z.string().min(32)
password: yup.string().required().min(8)
password = Column(String(255), nullable=False)
password = forms.CharField(widget=forms.PasswordInput)
api_key=settings.api_key,
api_key=api_key,
apiKey = config.apiKey
client = OpenAI(api_key=key)
AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY}
aws_secret_access_key = <your secret key>
AWS_ACCESS_KEY_ID=your-access-key
API_KEY=your_api_key_here
API_KEY=changeme
PASSWORD=example
DB_PASSWORD=password
POSTGRES_PASSWORD: postgres
TOKEN=xxxxxxxxxxxxxxxx
password: "********"
api_key: [REDACTED]
postgres://user:password@localhost:5432/db
postgres://${PGUSER}:${PGPASSWORD}@db/app
https://example.com:8443/path@2x.png
git clone git@github.com:team/app.git
ssh://git@host:2222/team/app.git
http://localhost:3000/users?page=2
mailto:someone@example.com
npm install @types/node@20.11.5
"resolved": "https://registry.npmjs.org/lodash/-/lodash-4.17.21.tgz",
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
integrity sha1-jNk9aRRJeLCSYjKxnWQzcKB/BBA=
checksum = "a34b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b"
    --hash=sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae \
github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
commit 3f786850e387550fdab836ed7e6dc881de23001b
index 83db48f..bf269f4 100644
Merge: 1a2b3c4 5d6e7f8
d41d8cd98f00b204e9800998ecf8427e  empty.txt
5eb63bbbe01eeed093cb22bb8f5acdc3
uuid = "550e8400-e29b-41d4-a716-446655440000"
id: 7d1f2c3a-0000-4000-8000-000000000001
request_id=req_011CSHoEeqs5C35K2UUqR7Fy
toolu_01FHpVtawG6NqQ943umBMky8
msg_01TqDZoU6FcpxB4u2AmpgWfZ
call_abc123def456
"sessionId": "5c0375b4-57a5-4f26-b12d-d022ee4e51b7",
etag: W/"33a64df551425fcc55e4d42a148795d9f25f89d4"
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
data = "SGVsbG8sIHdvcmxkISBUaGlzIGlzIGEgdGVzdC4="
b64 = base64.b64encode(b"hello world").decode()
eyJhbGciOiJub25lIn0
-----BEGIN CERTIFICATE-----
MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ
-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
if "-----BEGIN RSA PRIVATE KEY-----" in text:
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKMqJ1w2oJ5mYyqfV2n8p5h0pWm5wq2x9r8t7v6u5s dev@laptop
.risk-assessment-card-wrapper-large-container-outer { margin: 0 }
.task-list-item-checkbox-with-very-long-class-name-here:hover
.sk-folding-cube .sk-cube { width: 50%; float: left; }
background: url(data:image/gif;base64,R0lGODlhAQABAAAAACw=);
color: #1a2b3c; background: #ffffff80;
--color-token-primary: #336699;
--shadow-token: 0 1px 2px rgba(0, 0, 0, 0.05);
!function(e,t){"use strict";var n=e.token,r=t.secret;return n&&r}(window,document);
var a=b.c(d),e=f.g(h);i.password=j.k(l);m.token=n.o;
function t(e){return e.password||e.secretKey}
const e=Object.freeze({token:1,password:2,secret:3});
for(var s=0;s<tokens.length;s++){token=tokens[s]}
token_regex = re.compile(r"[A-Za-z0-9_\-]{20,}")
PASSWORD_MIN_LENGTH = 12
PASSWORD_RESET_TIMEOUT = 259200
TOKEN_EXPIRY_SECONDS = 3600
TOKEN_KIND_IDENTIFIER = 7
ACCESS_TOKEN_EXPIRE_MINUTES = 60 * 24 * 8
password_validators = ["length", "common"]
SECRET_KEY = env("SECRET_KEY")
SECRET_KEY = config("SECRET_KEY", default="")
secret_key = secrets.token_hex(32)
app.secret_key = os.urandom(24)
token = uuid.uuid4().hex
token = hashlib.sha256(raw).hexdigest()
key = hmac.new(secret, message, hashlib.sha256)
public_key = load_public_key("id_ed25519.pub")
foreign_key = "user_id"
primary_key=True
sort_key: created_at
cache_key = f"user:{user_id}:profile"
keyboard_key = "ArrowDown"
access_key_label = "Access key"
token[0].text == "if"
assert token.kind == TokenKind.NAME
expect(token).toBe("abc");
describe("password reset", () => {
it("rejects a wrong password", async () => {
test_password_is_hashed PASSED
tests/test_tokens.py::test_refresh_token_rotates PASSED [ 42%]
src/auth/password.ts(12,5): error TS2322: Type 'string' is not assignable
ls -la .secrets/ passwords.txt tokens.json
drwxr-xr-x 2 root root 4096 May  1 10:00 secrets
git commit -m "Rotate the API token and the database password"
INFO  token refreshed for user 4711 in 35 ms
WARN  password authentication failed for user "app"
FATAL: password authentication failed for user "postgres"
Set-Cookie: theme=dark; Path=/; HttpOnly
GRANT SELECT ON secrets TO reader;
CREATE USER app WITH PASSWORD :password;
ALTER TABLE users ADD COLUMN password_reset_token text;
SELECT token, expires_at FROM sessions WHERE user_id = $1;
resource "aws_secretsmanager_secret" "db" {
  password = var.db_password
  secret_string = jsonencode(local.credentials)
  token = data.aws_eks_cluster_auth.main.token
pub struct Token<'a> { kind: TokenKind, text: &'a str }
#define TOKEN_MAX 4096
static const char *token_names[] = { "IF", "ELSE" };
case TOKEN_STRING: return parse_string(p);
AC_CHECK_HEADERS([stdlib.h])
SKIPPED 12 tests
key-value pairs are stored in order
mem_usage = process.memory_info().rss
npm_config_registry=https://registry.npmjs.org
sha256sum: WARNING: 1 computed checksum did NOT match
version: 1.2.3-beta.4+build.567
2026-05-01T10:00:00.000Z token bucket refilled: 100 of 100
The token budget is 200,000 and 43% of it is used.
Use `--password` or the PASSWORD variable.
See https://docs.example.com/guides/api-keys#rotating-secrets
""".strip("\n").split("\n")
