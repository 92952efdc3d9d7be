"""asyncua as a server and as a client, for `cargo xtask opcua`: see xtask/src/opcua/puppet.rs for what it is told and what it answers.

python peer.py server PKI PORT USER PASSWORD
python peer.py client PKI
"""

import asyncio
import logging
import struct
import sys
import threading
import time
from pathlib import Path

from asyncua import Client, Server, ua
from asyncua.crypto import security_policies, uacrypto
from asyncua.crypto.permission_rules import User, UserRole
from asyncua.server.user_managers import UserManager
from asyncua.ua.ua_binary import struct_to_binary

NAMESPACE = "urn:durward:peer"
POLICY = security_policies.SecurityPolicyBasic256Sha256
JWT = "http://opcfoundation.org/UA/UserToken#JWT"


def own(pki):
    """The files of the application's certificate and of its key."""
    return f"{pki}/own/certs/application.der", f"{pki}/own/private/application.der"


# The server


class OneUser(UserManager):
    """Lets in one user, by password."""

    def __init__(self, name, password):
        self.known = (name, password)

    def get_user(self, iserver, username=None, password=None, certificate=None):
        return User(role=UserRole.User) if (username, password) == self.known else None


async def serve(pki, port, name, password):
    server = Server(user_manager=OneUser(name, password))
    await server.init()
    await server.set_application_uri("urn:durward:peer:asyncua:server")
    server.set_endpoint(f"opc.tcp://127.0.0.1:{port}")
    certificate, key = own(pki)
    await server.load_certificate(certificate)
    await server.load_private_key(key)
    server.set_security_policy([ua.SecurityPolicyType.Basic256Sha256_SignAndEncrypt])
    server.set_identity_tokens([ua.UserNameIdentityToken])
    trusted = {file.read_bytes() for file in Path(pki, "trusted/certs").iterdir()}

    async def validate(certificate, _application):
        if uacrypto.der_from_x509(certificate) not in trusted:
            raise ua.uaerrors.BadCertificateUntrusted()

    server.set_certificate_validator(validate)
    index = await server.register_namespace(NAMESPACE)

    def node(id):
        return ua.NodeId(id, index)

    tank = await server.nodes.objects.add_object(node("Tank"), ua.QualifiedName("Tank", index))
    level = await tank.add_variable(node("Tank.Level"), ua.QualifiedName("Level", index), 0.0)
    for id in ("SetPoint", "Secret"):
        variable = await tank.add_variable(node(f"Tank.{id}"), ua.QualifiedName(id, index), 1.0)
        await variable.set_writable()

    def double(_parent, value):
        return [ua.Variant(2.0 * value.Value, ua.VariantType.Double)]

    for id in ("Double", "Forbidden"):
        name = ua.QualifiedName(id, index)
        await tank.add_method(node(f"Tank.{id}"), name, double, [ua.VariantType.Double], [ua.VariantType.Double])
    async with server:
        print("ready", flush=True)
        for count in range(1_000_000_000):
            await asyncio.sleep(0.1)
            await level.write_value(float(count))


# The client


class Peer:
    """A client with one session at a time."""

    def __init__(self, pki):
        self.pki = pki
        self.client = None
        self.values = asyncio.Queue()

    async def connect(self, url, mode="SignAndEncrypt", application_uri="urn:durward:peer:asyncua", shown=None):
        """Opens a channel and creates a session, without a user yet. `shown` is a certificate to show instead of the own one."""
        client = Client(url, timeout=10)
        client.application_uri = application_uri
        client.secure_channel_timeout = 60_000
        certificate, key = own(self.pki)
        await client.set_security(POLICY, certificate, key, mode=ua.MessageSecurityMode[mode])
        await client.connect_socket()
        try:
            await client.send_hello()
            await client.open_secure_channel()
            if shown:
                client.security_policy.host_certificate = shown
            await client.create_session()
        except BaseException:
            client.disconnect_socket()
            raise
        return client

    async def activate(self, client, kind, *secrets):
        """Says who the user is."""
        if kind == "anonymous":
            await client.activate_session()
        elif kind == "user":
            await client.activate_session(*secrets)
        else:
            await activate_by_token(client, kind, secrets[0])

    async def open(self, url, *who):
        await self.close()
        client = await self.connect(url)
        try:
            await self.activate(client, *who)
        except BaseException:
            client.disconnect_socket()
            raise
        client._start_renew_loop()
        self.client = client

    async def renew(self, *who):
        await self.activate(self.client, *who)

    async def close(self):
        client, self.client = self.client, None
        if client:
            try:
                await client.close_session()
                await client.close_secure_channel()
            finally:
                client.disconnect_socket()

    async def issuer(self, url):
        for endpoint in await Client(url, timeout=10).connect_and_get_server_endpoints():
            for policy in endpoint.UserIdentityTokens:
                if policy.IssuedTokenType == JWT:
                    return [policy.IssuerEndpointUrl]
        raise ua.UaError("no policy for JSON Web Tokens")

    async def token(self, url, name, password, resource):
        client = await self.connect(url)
        await client.activate_session(name, password)
        try:
            index = await client.get_namespace_index("urn:durward:opcua:authority")
            service = client.get_node(ua.NodeId("AuthorizationService", index))
            method = ua.NodeId("AuthorizationService.RequestAccessToken", index)
            none = ua.Variant(None, ua.VariantType.ExtensionObject)
            return [await service.call_method(method, none, ua.Variant(resource, ua.VariantType.String))]
        finally:
            await client.close_session()
            client.disconnect_socket()

    async def read(self, node):
        return [await self.client.get_node(node).read_value()]

    async def write(self, node, number):
        await self.client.get_node(node).write_value(ua.DataValue(ua.Variant(float(number), ua.VariantType.Double)))

    async def call(self, object, method, *numbers):
        arguments = [ua.Variant(float(number), ua.VariantType.Double) for number in numbers]
        result = await self.client.get_node(object).call_method(ua.NodeId.from_string(method), *arguments)
        return [] if result is None else [result]

    async def browse(self, node):
        found = await self.client.get_node(node).get_references(direction=ua.BrowseDirection.Forward)
        return [reference.BrowseName.Name for reference in found]

    async def watch(self, node):
        self.values = asyncio.Queue()
        subscription = await self.client.create_subscription(100, self)
        await subscription.subscribe_data_change(self.client.get_node(node))

    def datachange_notification(self, _node, value, data):
        status = data.monitored_item.Value.StatusCode
        self.values.put_nowait(value if status.is_good() else status.name)

    def status_change_notification(self, status):
        self.values.put_nowait(status.Status.name if hasattr(status, "Status") else "ended")

    async def next(self, ms):
        try:
            return [await asyncio.wait_for(self.values.get(), int(ms) / 1000)]
        except asyncio.TimeoutError:
            return ["silent"]

    # What a client of good will does not do

    async def forge(self, url, application_uri):
        """Creates a session in the name of another application."""
        (await self.connect(url, application_uri=application_uri)).disconnect_socket()

    async def foreign(self, url, file):
        """Creates a session with the certificate of another application, over the own channel."""
        (await self.connect(url, shown=Path(file).read_bytes())).disconnect_socket()

    async def sign_only(self, url, *who):
        """Opens a session over a channel that is only signed."""
        await self.close()
        client = await self.connect(url, mode="Sign")
        try:
            await self.activate(client, *who)
        except BaseException:
            client.disconnect_socket()
            raise
        self.client = client

    async def policies(self, url):
        """The identifiers of all policies for user tokens."""
        endpoints = await Client(url, timeout=10).connect_and_get_server_endpoints()
        return [policy.PolicyId for endpoint in endpoints for policy in endpoint.UserIdentityTokens]

    async def behind(self, token, node):
        """How many milliseconds a read takes that is sent while the session's token is renewed: the shortest of ten."""
        times = []
        for _ in range(10):
            renewal = asyncio.create_task(self.renew("token", token))
            await asyncio.sleep(0)
            start = time.monotonic()
            await self.read(node)
            times.append(1000 * (time.monotonic() - start))
            await renewal
        return [min(times)]

    async def smuggle(self, allowed, hidden, number):
        """Writes two entries for one node, the first with a structure that has a whole entry for another node behind it, in its length."""
        double = ua.DataValue(ua.Variant(float(number), ua.VariantType.Double))
        third = struct_to_binary(write_value(hidden, double))
        change_filter = struct.pack("<IId", 0, 0, 0.0)
        structure = ua.ExtensionObject(ua.NodeId(ua.ObjectIds.DataChangeFilter_Encoding_DefaultBinary), change_filter + third)
        first = write_value(allowed, ua.DataValue(ua.Variant(structure, ua.VariantType.ExtensionObject)))
        params = ua.WriteParameters()
        params.NodesToWrite = [first, write_value(allowed, ua.DataValue(ua.Variant(6.25, ua.VariantType.Double)))]
        return [status.name for status in await self.client.uaclient.write(params)]


def write_value(node, value):
    entry = ua.WriteValue()
    entry.NodeId = ua.NodeId.from_string(node)
    entry.AttributeId = ua.AttributeIds.Value
    entry.Value = value
    return entry


async def activate_by_token(client, kind, token):
    """ActivateSession with an issued token, which asyncua has no function for. Of the kind `token` as its policy wants it; `plain` and
    `pkcs1` are wrong."""
    policy = next(policy for policy in client._policy_ids if policy.IssuedTokenType == JWT)
    params = ua.ActivateSessionParameters()
    security = client.security_policy
    params.ClientSignature.Algorithm = security.AsymmetricSignatureURI
    challenge = security.peer_certificate + client._server_nonce
    params.ClientSignature.Signature = security.asymmetric_cryptography.signature(challenge)
    identity = ua.IssuedIdentityToken()
    identity.PolicyId = policy.PolicyId
    if kind == "pkcs1":
        key = uacrypto.x509_from_der(security.peer_certificate).public_key()
        text = b"".join(encrypt_rsa15_blocks(key, secret_with_nonce(client, token.encode())))
        identity.TokenData = text
        identity.EncryptionAlgorithm = security_policies.SecurityPolicyBasic128Rsa15.AsymmetricEncryptionURI
    elif kind == "plain" or policy.SecurityPolicyUri == security_policies.SecurityPolicyNone.URI:
        identity.TokenData = token.encode()
        identity.EncryptionAlgorithm = None
    else:
        identity.TokenData = encrypted(client, token.encode())
        identity.EncryptionAlgorithm = security.AsymmetricEncryptionURI
    params.UserIdentityToken = identity
    answer = await client.uaclient.activate_session(params)
    client._server_nonce = answer.ServerNonce


def secret_with_nonce(client, secret):
    """The secret and the server's nonce behind their length (Part 4, 7.41.2.2)."""
    text = secret + client._server_nonce
    return len(text).to_bytes(4, "little") + text


def blocks(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def encrypted(client, secret):
    """In as many blocks as it needs; asyncua makes one."""
    key = uacrypto.x509_from_der(client.security_policy.peer_certificate).public_key()
    text = secret_with_nonce(client, secret)
    return b"".join(uacrypto.encrypt_rsa_oaep(key, block) for block in blocks(text, key.key_size // 8 - 42))


def encrypt_rsa15_blocks(key, text):
    return [uacrypto.encrypt_rsa15(key, block) for block in blocks(text, key.key_size // 8 - 11)]


async def answer(peer, line):
    name, *words = line.split("\t")
    try:
        found = await asyncio.wait_for(getattr(peer, name)(*words), 30)
        return "\t".join(["ok", *map(str, found or [])])
    except ua.UaStatusCodeError as error:
        return f"no\t{ua.status_codes.get_name_and_doc(error.code)[0]}"
    except Exception as error:
        return f"no\t{type(error).__name__}: {error}".replace("\n", " ")


async def obey(pki):
    peer, lines, loop = Peer(pki), asyncio.Queue(), asyncio.get_running_loop()

    def listen():
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=listen, daemon=True).start()
    while (line := await lines.get()) is not None:
        print(await answer(peer, line), flush=True)


logging.disable(logging.CRITICAL)
if sys.argv[1] == "server":
    asyncio.run(serve(*sys.argv[2:]))
else:
    asyncio.run(obey(sys.argv[2]))
