import { connect } from 'node:net';
import { type Dispatcher, request } from 'undici';
import { onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator-api.js';
import { createStandingClock } from '../support/test-clock.js';

export const REPORT = '/api/v1/report/campaigns/get';

/** A simulator on a standing clock, without a rate limit, closed when the test ends. */
export async function start(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({
    clock: createStandingClock(),
    ...options,
    switches: { rateLimitPerMinute: 0, ...options.switches },
  });
  onTestFinished(() => simulator.close());
  return simulator;
}

export interface Reply {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly text: string;
  /** The body as JSON. */
  json<T = Record<string, unknown>>(): T;
}

export interface CallOptions {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Record<string, string>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string;
}

/** A call with the simulator's token and `accept: application/json`, unless other headers are given. */
export async function call(simulator: Simulator, path: string, options: CallOptions = {}): Promise<Reply> {
  const { method = 'GET', json, headers = {} } = options;
  const body = json === undefined ? options.body : JSON.stringify(json);
  const {
    statusCode,
    headers: answered,
    body: stream,
  } = await request(simulator.url + path, {
    method,
    headers: {
      authorization: `Bearer ${simulator.token}`,
      accept: 'application/json',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await stream.text();
  return { status: statusCode, headers: answered, text, json: <T>() => JSON.parse(text) as T };
}

export type Row = Record<string, unknown>;

/** The rows of a report call in the default shape. */
export async function rowsOf(simulator: Simulator, query: string, options: CallOptions = {}): Promise<Row[]> {
  const reply = await call(simulator, `${REPORT}${query}`, options);
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.json<{ data: Row[] }>().data;
}

/** Sends a request target byte for byte, past any client that would tidy it. @returns the whole answer */
export function sendRaw(
  simulator: Simulator,
  target: string,
  headers: readonly string[] = [],
): Promise<string> {
  const { hostname, port, host } = new URL(simulator.url);
  const lines = [
    `GET ${target} HTTP/1.1`,
    `host: ${host}`,
    `authorization: Bearer ${simulator.token}`,
    'accept: application/json',
    'connection: close',
    ...headers,
  ];
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/** @returns the members as a query or form, values as text */
export function encodeForm(members: object): string {
  const pairs = Object.entries(members).map(([name, value]): [string, string] => [name, String(value)]);
  return new URLSearchParams(pairs).toString();
}
