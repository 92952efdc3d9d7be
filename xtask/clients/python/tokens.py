"""PyJWT believes durward's tokens, and durward believes of PyJWT's only what it would have given itself.

    tokens.py BINARY FOLDER

Starts `durward serve` in the folder, with a key of every algorithm, and writes a line for each case: `ok WHAT`, or
`FAILED WHAT: WHY`.
"""

import base64
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

ALGORITHMS = ["EdDSA", "ES256", "RS256"]
# Argon2id of `s3cret`, with little memory so that a busy machine is quick.
SECRET = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU"
PATIENCE_S = 30

binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


port = free_port()
issuer = f"http://127.0.0.1:{port}"


def write_settings():
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policies").mkdir(exist_ok=True)
    (folder / "policies" / "all.sapl").write_text('policy "all" permit\n')
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    # Keys that others can read are refused.
    (folder / "rsa.pem").touch(mode=0o600)
    (folder / "rsa.pem").chmod(0o600)
    (folder / "rsa.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *pem))
    clients = "".join(
        f"[[oauth.clients]]\nid = '{name}'\nsecret = '{SECRET}'\nalgorithm = '{name}'\n"
        "grants = ['client-credentials']\naudiences = ['api']\nserves = ['api']\nscopes = ['read']\n"
        for name in ALGORITHMS
    )
    (folder / "durward.toml").write_text(
        f"server.listen = '127.0.0.1:{port}'\npolicies.path = 'policies'\n"
        f"[oauth]\nissuer = '{issuer}'\nalgorithms = {ALGORITHMS}\ndata = 'data'\nrs256_key_paths = ['rsa.pem']\n"
        + clients
    )


def post(path, client, form):
    request = urllib.request.Request(issuer + path, urllib.parse.urlencode(form).encode())
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{client}:s3cret".encode()).decode())
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def token(client):
    form = {"grant_type": "client_credentials", "audience": "api"}
    return post("/oauth2/token", client, form)["access_token"]


def is_active(token):
    return post("/oauth2/introspect", "EdDSA", {"token": token})["active"]


def wait_until_ready(server):
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            urllib.request.urlopen(issuer + "/health/ready", timeout=PATIENCE_S).close()
            return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)


def decode(token, **other):
    """As a careful service does: one issuer, one audience, one algorithm."""
    key = keys.get_signing_key_from_jwt(token).key
    expected = {"algorithms": [jwt.get_unverified_header(token)["alg"]], "audience": "api", "issuer": issuer}
    required = {"require": ["iss", "sub", "aud", "exp", "iat", "jti"]}
    return jwt.decode(token, key, **{**expected, "options": required, **other})


def refuses(error, token, **other):
    try:
        decode(token, **other)
    except error:
        return
    raise AssertionError("PyJWT believes it")


def change_signature(token):
    signed, signature = token.rsplit(".", 1)
    return f"{signed}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def check_believed(name):
    made = token(name)
    header, claims = jwt.get_unverified_header(made), decode(made)
    assert (header["alg"], header["typ"]) == (name, "at+jwt"), header
    assert (claims["sub"], claims["client_id"], claims["scope"]) == (f"client:{name}", name, "read"), claims
    assert is_active(made)


def check_refused(name):
    made = token(name)
    refuses(jwt.InvalidAudienceError, made, audience="other")
    refuses(jwt.InvalidIssuerError, made, issuer="https://other.example.org")
    refuses(jwt.InvalidAlgorithmError, made, algorithms=[other for other in ALGORITHMS if other != name])
    refuses(jwt.InvalidSignatureError, change_signature(made))
    assert not is_active(change_signature(made))


def private_key(der):
    # RFC 8410: the seed stands at a fixed place. The public key behind it, tagged in the older way, is not read here.
    if bytes.fromhex("06032b6570") in der[:16]:
        return ed25519.Ed25519PrivateKey.from_private_bytes(der[16:48])
    return serialization.load_der_private_key(der, None)


def check_made_elsewhere(name):
    """With durward's own keys, PyJWT makes what durward would have made, and what it would not."""
    made = token(name)
    header, claims = jwt.get_unverified_header(made), jwt.decode(made, options={"verify_signature": False})
    if name == "RS256":
        key = serialization.load_pem_private_key((folder / "rsa.pem").read_bytes(), None)
    else:
        kept = json.loads((folder / "data" / "signing-keys.json").read_text())["keys"]
        read = [private_key(base64.b64decode(one["pkcs8"])) for one in kept]
        wanted = ed25519.Ed25519PrivateKey if name == "EdDSA" else ec.EllipticCurvePrivateKey
        [key] = [one for one in read if isinstance(one, wanted)]

    def sign(changed=None, head=None, algorithm=name, with_key=key):
        headers = {"kid": header["kid"], "typ": "at+jwt", **(head or {})}
        return jwt.encode({**claims, **(changed or {})}, with_key, algorithm=algorithm, headers=headers)

    assert is_active(sign({"jti": "another"})), "the same, made by PyJWT"
    now = int(time.time())
    for what, other in [
        ("ended", sign({"exp": now - 1})),
        ("not begun", sign({"nbf": now + 3600})),
        ("from the future", sign({"iat": now + 3600})),
        ("another issuer", sign({"iss": "https://other.example.org"})),
        ("another audience", sign({"aud": "other", "client_id": "ES256" if name != "ES256" else "RS256"})),
        ("a client there is not", sign({"client_id": "nobody"})),
        ("another type", sign(head={"typ": "JWT"})),
        ("another key's name", sign(head={"kid": "x"})),
        ("no signature", sign(algorithm="none", with_key=None)),
        ("a shared secret", sign(algorithm="HS256", with_key=b"a secret that has thirty-two bytes")),
    ]:
        assert not is_active(other), what


write_settings()
with open(folder / "durward.log", "w", encoding="utf-8") as log:
    server = subprocess.Popen(
        [binary, "serve", "--config", str(folder / "durward.toml")], stdout=log, stderr=subprocess.STDOUT
    )
try:
    wait_until_ready(server)
    with urllib.request.urlopen(issuer + "/.well-known/openid-configuration", timeout=PATIENCE_S) as answer:
        keys = jwt.PyJWKClient(json.load(answer)["jwks_uri"])
    for check in [check_believed, check_refused, check_made_elsewhere]:
        for name in ALGORITHMS:
            what = f"{check.__name__.removeprefix('check_').replace('_', ' ')}: {name}"
            try:
                check(name)
                print(f"ok {what}", flush=True)
            except Exception as error:  # Whatever it is, the next case may say more.
                print(f"FAILED {what}: {type(error).__name__} {error}", flush=True)
finally:
    server.terminate()
    server.wait(PATIENCE_S)
