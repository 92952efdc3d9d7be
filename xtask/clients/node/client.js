// What SAPL's package for NestJS is made of: fetch and a parser of events, rsocket-js and protobufjs.
// Does as it is told, line by line: see `xtask/src/clients/puppet.rs`.
'use strict';

const readline = require('node:readline');
const { createParser } = require('eventsource-parser');
const protobuf = require('protobufjs');
const core = require('rsocket-core');
const RSocketTcpClient = require('rsocket-tcp-client').default;

const schema = protobuf.loadSync(process.argv[2]);
const type = (name) => schema.lookupType(`sapl.${name}`);
const INDETERMINATE = { decision: 'INDETERMINATE' };
const PATIENCE_MS = 20000;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// JSON into SAPL's messages and back.

function toMessage(json) {
  if (json === null) return { null: {} };
  if (typeof json === 'boolean') return { bool: json };
  if (typeof json === 'number') return { number: String(json) };
  if (typeof json === 'string') return { text: json };
  if (Array.isArray(json)) return { array: { elements: json.map(toMessage) } };
  return { object: { fields: mapped(json, toMessage) } };
}

function toJson(value) {
  switch (value.kind) {
    case 'null': return null;
    case 'bool': return value.bool;
    case 'number': return Number(value.number);
    case 'text': return value.text;
    case 'array': return value.array.elements.map(toJson);
    case 'object': return mapped(value.object.fields, toJson);
    default: throw new Error(`no JSON: ${value.kind}`);
  }
}

const mapped = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

const encode = (name, message) => Buffer.from(type(name).encode(type(name).fromObject(message)).finish());
const decode = (name, data) => type(name).decode(data);
const subscription = (ask) => encode('Subscription', mapped(ask, toMessage));
const subscriptions = (ask) =>
  encode('MultiSubscription', {
    subscriptions: Object.entries(ask).map(([id, one]) => ({ id, subscription: mapped(one, toMessage) })),
  });

function plain(message) {
  const decision = { decision: type('Decision').root.lookupEnum('sapl.Outcome').valuesById[message.decision] };
  if (message.obligations.elements.length > 0) decision.obligations = message.obligations.elements.map(toJson);
  if (message.advice.elements.length > 0) decision.advice = message.advice.elements.map(toJson);
  if (message.resource.kind !== 'undefined') decision.resource = toJson(message.resource);
  return decision;
}

const READ = {
  decide: (data) => plain(decode('Decision', data)),
  'multi-decide': (data) => {
    const one = decode('IdentifiedDecision', data);
    return { subscriptionId: one.id, decision: plain(one.decision) };
  },
  'multi-decide-all': (data) => mapped(decode('MultiDecision', data).decisions, plain),
};

// Over HTTP.

class Http {
  constructor(port, credentials) {
    this.base = `http://127.0.0.1:${port}/api/pdp/`;
    this.headers = { 'Content-Type': 'application/json' };
    if (credentials.username) {
      const pair = Buffer.from(`${credentials.username}:${credentials.secret}`).toString('base64');
      this.headers.Authorization = `Basic ${pair}`;
    } else if (credentials.token) {
      this.headers.Authorization = `Bearer ${credentials.token}`;
    }
  }

  async fetch(path, ask, accept, signal) {
    const headers = { ...this.headers, Accept: accept };
    const answer = await fetch(this.base + path, { method: 'POST', headers, body: JSON.stringify(ask), signal });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer;
  }

  async once(path, ask) {
    return (await this.fetch(path, ask, 'application/json', AbortSignal.timeout(PATIENCE_MS))).json();
  }

  async stream(what, ask, tell, signal) {
    const answer = await this.fetch(what, ask, 'text/event-stream', signal);
    const parser = createParser({
      // Events with a name are none of decisions.
      onEvent: (event) => event.event === undefined && tell(JSON.parse(event.data)),
    });
    const text = new TextDecoder();
    for await (const bytes of answer.body) parser.feed(text.decode(bytes, { stream: true }));
  }

  close() {}
}

// Over RSocket.

class Rsocket {
  constructor(port, credentials) {
    let metadata;
    if (credentials.username) {
      metadata = core.encodeSimpleAuthMetadata(credentials.username, credentials.secret);
    } else if (credentials.token) {
      metadata = core.encodeBearerAuthMetadata(credentials.token);
    }
    this.options = {
      transport: () => new RSocketTcpClient({ host: '127.0.0.1', port }, core.BufferEncoders),
      setup: {
        dataMimeType: 'application/vnd.google.protobuf',
        metadataMimeType: 'message/x.rsocket.authentication.v0',
        keepAlive: 400,
        lifetime: 20000,
        payload: { data: Buffer.alloc(0), metadata },
      },
    };
  }

  async socket() {
    if (this.open === undefined) {
      const { transport, setup } = this.options;
      const client = new core.RSocketClient({ setup, transport: transport() });
      const socket = await client.connect();
      this.open = { client, socket };
      socket.connectionStatus().subscribe({
        onNext: ({ kind }) => {
          if (kind === 'CLOSED' || kind === 'ERROR') this.open = undefined;
        },
        onSubscribe: (subscribed) => subscribed.request(Number.MAX_SAFE_INTEGER),
      });
    }
    return this.open.socket;
  }

  payload(route, ask, write) {
    return { data: write(ask), metadata: Buffer.from(route, 'utf8') };
  }

  async once(path, ask) {
    const [write, read] =
      path === 'decide-once' ? [subscription, READ.decide] : [subscriptions, READ['multi-decide-all']];
    const socket = await this.socket();
    return new Promise((resolve, reject) => {
      socket.requestResponse(this.payload(path, ask, write)).subscribe({
        onComplete: ({ data }) => resolve(read(data)),
        onError: reject,
      });
      setTimeout(() => reject(new Error('no answer')), PATIENCE_MS);
    });
  }

  async stream(what, ask, tell, signal) {
    const socket = await this.socket();
    const write = what === 'decide' ? subscription : subscriptions;
    return new Promise((resolve, reject) => {
      socket.requestStream(this.payload(what, ask, write)).subscribe({
        onSubscribe: (subscribed) => {
          signal.addEventListener('abort', () => subscribed.cancel());
          subscribed.request(0x7fffffff);
        },
        onNext: ({ data }) => tell(READ[what](data)),
        onComplete: resolve,
        onError: reject,
      });
    });
  }

  close() {
    if (this.open !== undefined) this.open.client.close();
    this.open = undefined;
  }
}

// What is told.

let client;
let stop = new AbortController();
let told = [];
let waiting;

function tell(decision) {
  told.push(decision);
  if (waiting !== undefined) waiting();
}

/** Says INDETERMINATE when a stream ends or breaks, and opens it again. */
async function keep(what, ask, signal) {
  let last;
  const changed = (decision) => {
    if (!signal.aborted && JSON.stringify(decision) !== JSON.stringify(last)) tell(decision);
    last = decision;
  };
  while (!signal.aborted) {
    await client.stream(what, ask, changed, signal).catch(() => undefined);
    changed(INDETERMINATE);
    await pause(200);
  }
}

/** What came, or INDETERMINATE and why. */
const said = (decision) =>
  decision.then(
    (answer) => ({ answer }),
    (error) => ({ answer: INDETERMINATE, why: String(error) }),
  );

const DO = {
  connect({ transport, port, credentials }) {
    stop.abort();
    if (client !== undefined) client.close();
    client = transport === 'http' ? new Http(port, credentials) : new Rsocket(port, credentials);
  },
  once: ({ ask }) => said(client.once('decide-once', ask)),
  'all-once': ({ ask }) => said(client.once('multi-decide-all-once', ask)),
  open({ what, ask }) {
    stop.abort();
    stop = new AbortController();
    told = [];
    keep(what, ask, stop.signal);
  },
  async next({ within_ms }) {
    if (told.length === 0) {
      await Promise.race([pause(within_ms), new Promise((resolve) => (waiting = resolve))]);
      waiting = undefined;
    }
    return told.length > 0 ? { answer: told.shift() } : { silent: true };
  },
  close: () => stop.abort(),
};

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: what, ...rest } = JSON.parse(line);
    let answer;
    try {
      answer = await DO[what](rest);
    } catch (error) {
      answer = { failed: String(error) };
    }
    process.stdout.write(`${JSON.stringify(answer ?? {})}\n`);
  }
  process.exit(0);
}

main();
