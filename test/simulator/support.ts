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

export interface CallOptions {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
}

/** A call with the simulator's token and `accept: application/json`, unless other headers are given. */
export async function call(simulator: Simulator, path: string, options: CallOptions = {}) {
  const { method = 'GET', json, headers = {} } = options;
  const answer = await request(simulator.url + path, {
    method,
    headers: {
      authorization: `Bearer ${simulator.token}`,
      accept: 'application/json',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const text = bytes.toString('utf8');
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes,
    text,
    json: <T = Record<string, unknown>>() => JSON.parse(text) as T,
  };
}

/** The rows of a report call in the default shape. */
export async function rowsOf(simulator: Simulator, query: string): Promise<Record<string, unknown>[]> {
  const reply = await call(simulator, `${REPORT}${query}`);
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.json<{ data: Record<string, unknown>[] }>().data;
}

/** Sends a request target byte for byte, past any client that would tidy it. @returns the whole answer */
export function sendRaw(
  simulator: Simulator,
  target: string,
  headers: readonly string[] = [],
): Promise<string> {
  const { hostname, port, host } = new URL(simulator.url);
  const lines = [`GET ${target} HTTP/1.1`, `host: ${host}`, `authorization: Bearer ${simulator.token}`];
  const head = [...lines, 'accept: application/json', 'connection: close', ...headers].join('\r\n');
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(`${head}\r\n\r\n`));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}
