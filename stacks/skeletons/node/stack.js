'use strict';
// A stack for edgegauge: the services echo and monitor, as JSON over HTTP/1.1.
// It speaks the adapter protocol (stacks/PROTOCOL.md): one JSON object per line on
// stdin and stdout. Replace the parts marked YOUR FRAMEWORK; keep the timing points.
const http = require('node:http');
const readline = require('node:readline');

const VERSION = '0.1'; // YOUR FRAMEWORK: its version
const JSON_TYPE = 'application/json';
const now = () => Number(process.hrtime.bigint()); // ns; exact for 104 days

class Refused extends Error {} // a message that the contract does not allow

// Messages generated from a seed (stacks/contract/README.md).

function splitmix(seed) {
  const mask = (1n << 64n) - 1n;
  return () => {
    seed = (seed + 0x9E3779B97F4A7C15n) & mask;
    let z = ((seed ^ (seed >> 30n)) * 0xBF58476D1CE4E5B9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94D049BB133111EBn) & mask;
    return z ^ (z >> 31n);
  };
}

function make(service, seed, n) {
  const next = splitmix(seed);
  const below = (most) => Number(next() % BigInt(most));
  const letter = () => String.fromCharCode('a'.charCodeAt(0) + below(26));
  const mixed = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const text = (count) => Array.from({ length: count }, () => mixed[below(52)]).join('');
  if (service === 'echo') return { text: text(n) };
  return {
    id: Array.from({ length: 8 }, letter).join(''),
    status: below(4),
    sequence: Number(next() >> 33n),
    temperature: below(10000) - 2000, // decimals are in hundredths
    pressure: 90000 + below(20000),
    running: below(2) === 1,
    message: text(n),
  };
}

const REQUEST = {
  echo: { text: 'text' },
  monitor: { id: 'text', status: 'int32', sequence: 'int32', temperature: 'decimal', pressure: 'decimal',
    running: 'boolean', message: 'text' },
};
const RESPONSE = { echo: { text: 'text' }, monitor: { accepted: 'boolean', sequence: 'int32' } };

/** The service's own work. */
function answer(service, request) {
  return service === 'echo' ? { text: request.text } : { accepted: true, sequence: request.sequence };
}

// The encoding. YOUR FRAMEWORK: its own serializer, if it writes the canonical form.

function quote(value, kind) {
  if (kind !== 'decimal') return JSON.stringify(value);
  const k = Math.abs(value);
  return `${value < 0 ? '-' : ''}${Math.floor(k / 100)}.${String(k % 100).padStart(2, '0')}`;
}

function encode(message, fields) {
  const parts = Object.keys(fields).map((f) => `"${f}":${quote(message[f], fields[f])}`);
  return Buffer.from(`{${parts.join(',')}}`);
}

const halfPair = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

function checked(value, kind, field) {
  if (kind === 'text' && typeof value === 'string' && !halfPair.test(value)) return value;
  if (kind === 'boolean' && typeof value === 'boolean') return value;
  if (kind === 'int32' && Number.isInteger(value) && (value | 0) === value) return value;
  if (kind === 'decimal' && typeof value === 'number' && Math.abs(value) <= 1e13) {
    const text = String(Math.abs(value)); // the digits as written, halves away from zero
    const k = text.includes('e') ? 0 : Math.round(Number(`${text}e2`));
    return value < 0 ? -k : k;
  }
  throw new Refused(`no ${kind} in ${field}`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(body, fields) {
  let message;
  try {
    message = JSON.parse(utf8.decode(body));
  } catch (e) {
    throw new Refused(`not JSON: ${e.message}`);
  }
  if (message === null || typeof message !== 'object' || Array.isArray(message)) throw new Refused('not an object');
  const out = {};
  for (const field of Object.keys(fields)) {
    if (!Object.hasOwn(message, field)) throw new Refused(`no ${field}`);
    out[field] = checked(message[field], fields[field], field);
  }
  return out;
}

// The server. YOUR FRAMEWORK: its own server instead of node:http.

function serve(line) {
  const { service } = line;
  const limit = line.limits?.body ?? 16000000;
  const wait = line.options?.delay || '0';
  if (!/^\d{1,15}$/.test(wait)) { // a setting that is not understood is refused, not replaced
    throw new Refused(`unknown options.delay "${wait}"; write nanoseconds, such as 1000000`);
  }
  const delay = Number(wait) / 1e6; // ms that slow the service, to test the lab
  let records = [];

  function respond(res, status, body, type) {
    const head = { 'Content-Type': type, 'Content-Length': body.length };
    if (status >= 400) head.Connection = 'close';
    res.writeHead(status, head);
    res.end(body);
  }

  const refuse = (res, status, why) => respond(res, status, Buffer.from(`${why}\n`), 'text/plain');

  async function work(res, body) {
    const begun = now(); // the request is complete
    const request = decode(body, REQUEST[service]);
    const decoded = now();
    if (delay > 0) await new Promise((done) => { setTimeout(done, delay + 1); });
    const response = answer(service, request);
    const answered = now();
    const out = encode(response, RESPONSE[service]);
    const encoded = now();
    respond(res, 200, out, JSON_TYPE);
    records.push({ deserialization: decoded - begun, processing: answered - decoded, serialization: encoded - answered,
      total: now() - begun, in: body.length, out: out.length });
  }

  const server = http.createServer((req, res) => {
    if (req.url !== `/${service}`) return refuse(res, 404, `only /${service} is served`);
    if (req.method !== 'POST') return refuse(res, 405, 'only POST is served');
    if ((req.headers['content-type'] ?? '').split(';')[0].trim().toLowerCase() !== JSON_TYPE) {
      return refuse(res, 415, `send ${JSON_TYPE}`);
    }
    const length = Number(req.headers['content-length'] ?? 0);
    if (length > limit) return refuse(res, 413, 'the body is larger than the limit');
    const parts = [];
    let size = 0;
    req.on('data', (part) => {
      size += part.length;
      if (size <= limit) parts.push(part);
      else if (!res.headersSent) refuse(res, 413, 'the body is larger than the limit');
    });
    req.on('end', () => {
      if (res.headersSent) return;
      work(res, Buffer.concat(parts)).catch((e) => refuse(res, e instanceof Refused ? 400 : 500, e.message));
    });
    return undefined;
  });

  server.keepAliveTimeout = 0; // a client may pause for longer than the 5 s after which Node ends its connection
  server.on('error', (e) => fail(e));
  server.listen({ port: line.port ?? 0, host: line.host }, () => { // this host only
    const host = line.host.includes(':') ? `[${line.host}]` : line.host;
    ready({ url: `http://${host}:${server.address().port}/${service}` });
  });
  return (ask) => {
    if (ask.type !== 'report') throw new Refused(`no type "${ask.type}" while serving; send report`);
    const taken = records;
    records = [];
    if (!ask.discard) taken.forEach((record, i) => say({ type: 'exchange', seq: i + 1, ...record }));
    say({ type: 'end', count: taken.length });
  };
}

// The client. YOUR FRAMEWORK: its own client instead of node:http.

function call(line, seed) {
  const { service, message, connection } = line;
  if (!['keep-alive', 'per-request'].includes(connection)) {
    throw new Refused(`no connection "${connection}"; there are keep-alive, per-request`);
  }
  if (message.letters || message.max) throw new Refused('letters and max are for concat and sum');
  const request = make(service, seed, message.n);
  const expected = answer(service, request);
  const url = new URL(line.url);
  if (url.protocol !== 'http:') throw new Refused(`not an HTTP URL: ${line.url}`);
  const keep = connection === 'keep-alive';
  const agent = new http.Agent({ keepAlive: keep, maxSockets: 1 });
  const timeout = (line.timeout ?? 30e9) / 1e6;

  /** Sends one request and fills x; throws if it fails. */
  async function once(x) {
    const begun = now();
    const body = encode(request, REQUEST[service]);
    x.serialization = now() - begun;
    x.out = body.length;
    const opening = now();
    const [response, got] = await new Promise((done, fails) => {
      const headers = { 'Content-Type': JSON_TYPE, 'Content-Length': body.length };
      const req = http.request(url, { method: 'POST', agent, headers });
      const late = setTimeout(() => req.destroy(new Error(`no response within ${timeout} ms`)), timeout);
      req.on('error', (e) => { clearTimeout(late); fails(e); });
      const send = () => {
        x.sent = now();
        req.end(body);
      };
      req.on('socket', (socket) => {
        if (!socket.connecting) return send();
        return socket.once('connect', () => {
          x.connection = now() - opening;
          send();
        });
      });
      req.on('response', (res) => {
        const parts = [];
        res.on('data', (part) => parts.push(part));
        res.on('error', fails);
        res.on('end', () => {
          clearTimeout(late);
          x.done = now();
          done([res, Buffer.concat(parts)]);
        });
      });
    });
    x.in = got.length;
    const status = response.statusCode;
    if (status !== 200) throw new Refused(`status ${status}: ${got.toString().slice(0, 100).trim()}`);
    const type = (response.headers['content-type'] ?? '').split(';')[0].trim();
    if (type !== JSON_TYPE) throw new Refused(`the answer is ${type}`);
    const decoding = now();
    const received = decode(got, RESPONSE[service]);
    x.deserialization = now() - decoding;
    x.total = now() - begun; // to check the answer is no part of it
    for (const f of Object.keys(expected)) {
      if (received[f] !== expected[f]) throw new Refused(`the answer has another ${f}`);
    }
  }

  ready({});
  return async (ask) => {
    if (ask.type !== 'run') throw new Refused(`no type "${ask.type}" while calling; send run`);
    if ((ask.concurrency ?? 1) > 1) throw new Refused('there is one connection; set concurrency to 1');
    const { arrival = 'constant' } = ask;
    if (arrival !== 'constant') throw new Refused(`no arrival "${arrival}"; there is constant`);
    const most = ask.requests || Infinity;
    const last = ask.duration || Infinity;
    if (most === Infinity && last === Infinity) throw new Refused('the run has no end; give requests or duration');
    const pace = ask.rate ? 1e9 / ask.rate : ask.interval ?? 0;
    const records = [];
    const failures = [];
    const start = now();
    let count = 0;
    while (count < most) {
      const due = pace ? Math.round(count * pace) : now() - start;
      if (due >= last || (!ask.rate && now() - start >= last)) break; // at a rate, what is due is sent, if late
      // timers of Node wake up to 1 ms early
      for (let left; (left = due - (now() - start)) > 0;) {
        await new Promise((done) => { setTimeout(done, left / 1e6); });
      }
      count += 1;
      const x = { type: 'exchange', seq: count, due };
      const begun = now();
      try {
        await once(x);
      } catch (e) {
        x.failure = e.message || String(e);
        failures.push(x.failure);
      }
      x.total = x.total ?? now() - begun; // it failed before it was decoded
      for (const instant of ['sent', 'done']) if (x[instant] !== undefined) x[instant] -= start;
      if (ask.record) records.push(x); // printed after the last request: no output in between
    }
    records.forEach((x) => say(x));
    const untold = !ask.record && failures.length > 0; // no record tells of them
    say({ type: 'end', count, ...(untold && { failed: failures.length, first_failure: failures[0] }) });
  };
}

// The adapter protocol.

function say(what, then) {
  process.stdout.write(`${JSON.stringify(what)}\n`, then);
}

function ready(more) {
  say({ type: 'ready', version: VERSION, runtime: `Node.js ${process.version}`, ...more });
}

function fail(e) {
  const message = String(e.message || e).replace(/\s+/g, ' ');
  say({ type: 'error', message }, () => process.exit(1));
}

function begin(verb, text) {
  const line = JSON.parse(text);
  if (line.type !== verb) throw new Refused(`first line is "${line.type}"; send "${verb}"`);
  const offered = {
    protocol: [1], service: Object.keys(REQUEST), encoding: ['json'], security: ['none'], transport: ['http'],
  };
  for (const [what, have] of Object.entries(offered)) {
    if (!have.includes(line[what])) throw new Refused(`no ${what} "${line[what]}"; there are ${have.join(', ')}`);
  }
  if (verb === 'serve') return serve(line);
  return call(line, BigInt(/"seed":(\d+)/.exec(text)[1])); // JSON.parse would round 64 bits
}

async function main(verb) {
  let go = null;
  for await (const text of readline.createInterface({ input: process.stdin })) {
    if (text.trim() === '') continue;
    if (go === null) go = begin(verb, text);
    else await go(JSON.parse(text));
  }
}

main(process.argv[2]).then(() => process.exit(0), fail); // the end of stdin ends the program, even if something is open
