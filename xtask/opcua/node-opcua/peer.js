// node-opcua as a server and as a client, for `cargo xtask opcua`: see xtask/src/opcua/puppet.rs for what it is told and what it answers.
//
// node peer.js server PKI PORT USER PASSWORD
// node peer.js client PKI
"use strict";

// What the stack says by itself goes where it does not disturb answers.
console.log = console.info = console.warn = console.error;

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const opcua = require("node-opcua");

const NAMESPACE = "urn:durward:peer";
const JWT = "http://opcfoundation.org/UA/UserToken#JWT";
const NONE = "http://opcfoundation.org/UA/SecurityPolicy#None";
const OAEP = "http://www.w3.org/2001/04/xmlenc#rsa-oaep";
const { DataType, UserTokenType, Variant } = opcua;

const double = (value) => new Variant({ dataType: DataType.Double, value });

/** The certificates of a directory, as node-opcua wants them: PEM, and a store of its own. */
async function certificates(pki) {
  const store = path.join(pki, "node-opcua");
  fs.mkdirSync(store, { recursive: true });
  const pem = (label, der) =>
    `-----BEGIN ${label}-----\n${der.toString("base64").match(/.{1,64}/g).join("\n")}\n-----END ${label}-----\n`;
  const certificateFile = path.join(store, "certificate.pem");
  const privateKeyFile = path.join(store, "key.pem");
  fs.writeFileSync(certificateFile, pem("CERTIFICATE", fs.readFileSync(path.join(pki, "own/certs/application.der"))));
  fs.writeFileSync(privateKeyFile, pem("PRIVATE KEY", fs.readFileSync(path.join(pki, "own/private/application.der"))));
  const manager = new opcua.OPCUACertificateManager({ rootFolder: store, automaticallyAcceptUnknownCertificate: false });
  await manager.initialize();
  for (const file of fs.readdirSync(path.join(pki, "trusted/certs"))) {
    await manager.trustCertificate(fs.readFileSync(path.join(pki, "trusted/certs", file)));
  }
  return { certificateFile, privateKeyFile, manager };
}

// The server

async function serve(pki, port, user, password) {
  const { certificateFile, privateKeyFile, manager } = await certificates(pki);
  const server = new opcua.OPCUAServer({
    hostname: "127.0.0.1",
    port: Number(port),
    certificateFile,
    privateKeyFile,
    serverCertificateManager: manager,
    userCertificateManager: manager,
    securityPolicies: [opcua.SecurityPolicy.Basic256Sha256],
    securityModes: [opcua.MessageSecurityMode.SignAndEncrypt],
    allowAnonymous: false,
    userManager: { isValidUser: (name, secret) => name === user && secret === password },
    serverInfo: { applicationUri: "urn:durward:peer:node-opcua:server" },
  });
  await server.initialize();
  const space = server.engine.addressSpace;
  const namespace = space.registerNamespace(NAMESPACE);
  const tank = namespace.addObject({ organizedBy: space.rootFolder.objects, nodeId: "s=Tank", browseName: "Tank" });
  const variable = (name, accessLevel) =>
    namespace.addVariable({
      componentOf: tank,
      nodeId: `s=Tank.${name}`,
      browseName: name,
      dataType: "Double",
      accessLevel,
      userAccessLevel: accessLevel,
      value: double(1),
    });
  const level = variable("Level", "CurrentRead");
  variable("SetPoint", "CurrentRead | CurrentWrite");
  variable("Secret", "CurrentRead | CurrentWrite");
  const argument = { name: "Value", dataType: DataType.Double };
  for (const name of ["Double", "Forbidden"]) {
    const method = namespace.addMethod(tank, {
      nodeId: `s=Tank.${name}`,
      browseName: name,
      inputArguments: [argument],
      outputArguments: [argument],
    });
    method.bindMethod((inputs, _context, callback) =>
      callback(null, { statusCode: opcua.StatusCodes.Good, outputArguments: [double(2 * inputs[0].value)] }),
    );
  }
  let count = 0;
  setInterval(() => level.setValueFromSource(double(count++)), 100);
  await server.start();
  process.stdout.write("ready\n");
}

// The client

/** What a status code or an error is called. */
function check(status) {
  if (status && !status.isGoodish()) {
    throw new Error(status.name);
  }
}

const policyOf = (endpoint) => endpoint.userIdentityTokens.find((policy) => policy.issuedTokenType === JWT);

/** The secret and the server's nonce in as many blocks as they need (Part 4, 7.41.2.2). */
function encrypted(secret, nonce, certificate) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(secret.length + nonce.length);
  const text = Buffer.concat([length, secret, nonce]);
  const key = new crypto.X509Certificate(certificate).publicKey;
  const blocks = [];
  for (let at = 0; at < text.length; at += 214) {
    blocks.push(crypto.publicEncrypt({ key, padding: crypto.constants.RSA_PKCS1_OAEP_PADDING }, text.subarray(at, at + 214)));
  }
  return Buffer.concat(blocks);
}

/** Teaches a client issued tokens, which node-opcua has no function for. */
function teachTokens(client) {
  const known = client.createUserIdentityToken.bind(client);
  client.createUserIdentityToken = (context, user, callback) => {
    if (!user || user.type !== UserTokenType.IssuedToken) {
      return known(context, user, callback);
    }
    const policy = policyOf(context.endpoint);
    const isPlain = policy.securityPolicyUri === NONE;
    const secret = Buffer.from(user.token);
    const userIdentityToken = new opcua.IssuedIdentityToken({
      policyId: policy.policyId,
      tokenData: isPlain ? secret : encrypted(secret, context.serverNonce, context.serverCertificate),
      encryptionAlgorithm: isPlain ? null : OAEP,
    });
    return callback(null, { userIdentityToken, userTokenSignature: {} });
  };
}

class Peer {
  constructor(certificates) {
    this.certificates = certificates;
    this.client = this.session = this.subscription = null;
    this.values = [];
  }

  newClient(mode = "SignAndEncrypt", policy = "Basic256Sha256") {
    const { certificateFile, privateKeyFile, manager } = this.certificates;
    const client = opcua.OPCUAClient.create({
      applicationName: "durward peer",
      applicationUri: "urn:durward:peer:node-opcua",
      certificateFile,
      privateKeyFile,
      clientCertificateManager: manager,
      securityMode: opcua.MessageSecurityMode[mode],
      securityPolicy: opcua.SecurityPolicy[policy],
      endpointMustExist: false,
      connectionStrategy: { maxRetry: 0 },
      defaultSecureTokenLifetime: 60_000,
      transactionTimeout: 15_000,
    });
    teachTokens(client);
    return client;
  }

  static user([kind, ...secrets]) {
    switch (kind) {
      case "user":
        return { type: UserTokenType.UserName, userName: secrets[0], password: secrets[1] };
      case "token":
        return { type: UserTokenType.IssuedToken, token: secrets[0] };
      default:
        return { type: UserTokenType.Anonymous };
    }
  }

  async open(url, ...who) {
    await this.close();
    const client = this.newClient();
    try {
      await client.connect(url);
      this.session = await client.createSession(Peer.user(who));
      this.client = client;
    } catch (error) {
      await client.disconnect();
      throw error;
    }
  }

  async renew(...who) {
    check(await this.session.changeUser(Peer.user(who)));
  }

  async close() {
    const { client, session } = this;
    this.client = this.session = this.subscription = null;
    this.values = [];
    if (client) {
      await session.close(true);
      await client.disconnect();
    }
  }

  async issuer(url) {
    const client = this.newClient("None", "None");
    await client.connect(url);
    const endpoints = await client.getEndpoints();
    await client.disconnect();
    return [policyOf(endpoints[0]).issuerEndpointUrl];
  }

  async token(url, name, password, resource) {
    const client = this.newClient();
    await client.connect(url);
    try {
      const session = await client.createSession(Peer.user(["user", name, password]));
      const index = (await session.readNamespaceArray()).indexOf("urn:durward:opcua:authority");
      const result = await session.call({
        objectId: `ns=${index};s=AuthorizationService`,
        methodId: `ns=${index};s=AuthorizationService.RequestAccessToken`,
        inputArguments: [
          { dataType: DataType.ExtensionObject, value: null },
          { dataType: DataType.String, value: resource },
        ],
      });
      check(result.statusCode);
      await session.close();
      return [result.outputArguments[0].value];
    } finally {
      await client.disconnect();
    }
  }

  async read(node) {
    const value = await this.session.read({ nodeId: node, attributeId: opcua.AttributeIds.Value });
    check(value.statusCode);
    return [value.value.value];
  }

  async write(node, number) {
    const value = { value: double(Number(number)) };
    check(await this.session.write({ nodeId: node, attributeId: opcua.AttributeIds.Value, value }));
  }

  async call(object, method, ...numbers) {
    const inputArguments = numbers.map((number) => double(Number(number)));
    const result = await this.session.call({ objectId: object, methodId: method, inputArguments });
    check(result.statusCode);
    return (result.outputArguments || []).map((output) => output.value);
  }

  async browse(node) {
    const result = await this.session.browse({ nodeId: node, browseDirection: opcua.BrowseDirection.Forward, resultMask: 63 });
    check(result.statusCode);
    return result.references.map((reference) => reference.browseName.name);
  }

  async watch(node) {
    if (this.subscription) {
      await this.subscription.terminate();
    }
    this.values = [];
    this.subscription = await this.session.createSubscription2({ requestedPublishingInterval: 100, publishingEnabled: true });
    const item = await this.subscription.monitor(
      { nodeId: node, attributeId: opcua.AttributeIds.Value },
      { samplingInterval: 100, queueSize: 10 },
      opcua.TimestampsToReturn.Both,
    );
    check(item.statusCode);
    item.on("changed", (value) => {
      this.values.push(value.statusCode.isGoodish() ? value.value.value : value.statusCode.name);
    });
  }

  async next(ms) {
    for (const end = Date.now() + Number(ms); !this.values.length && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return [this.values.length ? this.values.shift() : "silent"];
  }
}

/** The name of the status code in an error, or its words. */
function words(error) {
  const text = `${error.response?.responseHeader?.serviceResult?.name ?? ""} ${error.message}`;
  return text.trim().replace(/[\n\t]/g, " ");
}

async function obey(pki) {
  const peer = new Peer(await certificates(pki));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, ...rest] = line.split("\t");
    let answer;
    try {
      answer = ["ok", ...((await peer[name](...rest)) ?? [])];
    } catch (error) {
      answer = ["no", words(error)];
    }
    process.stdout.write(`${answer.join("\t")}\n`);
  }
  process.exit(0);
}

const [mode, ...rest] = process.argv.slice(2);
(mode === "server" ? serve : obey)(...rest).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
