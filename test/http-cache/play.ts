/**
 * Plays cases in the form of the public suite of HTTP cache tests (https://cache-tests.fyi) against a gateway whose
 * report endpoint is set to `freshness: origin`. Three things are the gateway's own and are not looked at: the bodies of
 * answers and the platform's headers in them, for answers are written anew; and `authorization`, which is the team's key.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Reply, startGatewayAt, type TestGateway } from '../support/start-gateway.js';
import { SECOND } from '../support/test-clock.js';

/** A whole number of a date's header is seconds from now. */
export type HeaderLine = readonly [string, string | number, ...unknown[]];

/** What is asked and answered once; the names are the suite's. */
export interface Step {
  readonly setup?: boolean;
  readonly setup_tests?: readonly string[];
  readonly pause_after?: boolean;
  readonly disconnect?: boolean;
  readonly request_method?: string;
  readonly request_headers?: readonly HeaderLine[];
  readonly request_body?: string;
  readonly response_headers?: readonly HeaderLine[];
  readonly response_status?: readonly [number, string?];
  readonly filename?: string;
  readonly query_arg?: string;
  readonly rfc850date?: readonly string[];
  readonly expected_type?: 'cached' | 'not_cached' | 'etag_validated' | 'lm_validated';
  readonly expected_status?: number;
  readonly expected_method?: string;
  readonly expected_request_headers?: readonly (string | readonly string[])[];
  readonly expected_response_headers?: readonly (string | readonly (string | number)[])[];
  readonly expected_response_headers_missing?: readonly (string | readonly string[])[];
}

export interface CacheCase {
  readonly id: string;
  readonly name: string;
  /** required: a fault where it fails · optimal: a call that could have been saved · check: either is right */
  readonly kind?: 'required' | 'optimal' | 'check';
  readonly requests: readonly Step[];
}

/** passed · failed · setup: it could not be put, for what it rests on is not so here */
export interface CaseOutcome {
  readonly result: 'passed' | 'failed' | 'setup';
  readonly why: string;
}

interface Seen {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

export interface CacheStage {
  play(one: CacheCase): Promise<CaseOutcome>;
  close(): Promise<void>;
}

const DATES = new Set(['date', 'expires', 'last-modified', 'if-modified-since', 'if-unmodified-since']);
const CONDITIONS: { readonly [type in NonNullable<Step['expected_type']>]?: string } = {
  etag_validated: 'if-none-match',
  lm_validated: 'if-modified-since',
};
const PERIOD = 'advertiserId=1&dateFrom=2026-10-01&dateTo=2026-10-07';
/** As long as the suite pauses. */
const PAUSE_MS = 3 * SECOND;

/** One gateway for all cases, each of which asks for a report of its own. */
export async function openCacheStage(): Promise<CacheStage> {
  let step: Step = {};
  let before: Step | undefined;
  let seen: Seen[] = [];
  let gateway: TestGateway;
  const origin = createServer((request, response) => {
    request.resume();
    seen.push({ method: request.method ?? '', headers: request.headers });
    if (step.disconnect === true) return void request.socket.destroy();
    response.sendDate = false;
    response.statusCode = statusOf(step, before, request.headers, gateway.clock.now());
    response.setHeader('content-type', 'application/json');
    for (const [name, values] of joined(step.response_headers, step, gateway.clock.now()))
      response.setHeader(name, values);
    response.end(bodiless(response.statusCode) ? undefined : '[{"campaign":"A","clicks":1}]');
  });
  gateway = await startGatewayAt(
    { url: await listen(origin), token: '42|token-of-the-cache-tests' },
    {
      config: {
        report: {
          endpoints: { 'campaigns/get': { freshness: 'origin', knownParameters: ['case', 'file'] } },
        },
        platform: { circuit: { failures: 1000 } },
      },
    },
  );
  const key = await gateway.addTeam();
  const ask = (id: string, one: Step): Promise<Reply> => {
    const file = (one.filename ?? one.query_arg ?? '').replaceAll(/[^A-Za-z0-9]/g, '');
    const query = `${PERIOD}&case=${id.replaceAll(/[^A-Za-z0-9]/g, '')}&file=${file}x`;
    const own = joined(one.request_headers, one, gateway.clock.now()).filter(
      ([name]) => name !== 'authorization',
    );
    const method = (one.request_method ?? 'GET') as 'GET';
    return gateway.report(key, query, {
      method,
      headers: Object.fromEntries(own),
      ...(one.request_body === undefined ? {} : { json: {} }),
    });
  };
  return {
    async play({ id, requests }) {
      const faults: { readonly step: Step; readonly member: string; readonly why: string }[] = [];
      before = undefined;
      for (const [at, one] of requests.entries()) {
        seen = [];
        step = one;
        const reply = await ask(id, one);
        await gateway.services.settled();
        const found = faultsOf(one, reply, seen);
        faults.push(
          ...found.map(([member, why]) => ({ step: one, member, why: `request ${at + 1}: ${why}` })),
        );
        if (one.pause_after === true) gateway.clock.advance(PAUSE_MS);
        before = one;
      }
      const [first] = faults;
      if (first === undefined) return { result: 'passed', why: '' };
      const isSetup = first.step.setup === true || first.step.setup_tests?.includes(first.member) === true;
      return { result: isSetup ? 'setup' : 'failed', why: first.why };
    },
    async close() {
      await gateway.close();
      origin.closeAllConnections();
      origin.close();
    },
  };
}

/** @returns what is not as the step expects it, each with the member that expects it */
function faultsOf(step: Step, reply: Reply, seen: readonly Seen[]): [string, string][] {
  const faults: [string, string][] = [];
  const type = step.expected_type;
  const [first] = seen;
  if (type === 'cached' && first !== undefined) faults.push(['expected_type', 'did not come from the cache']);
  if (type !== undefined && type !== 'cached' && first === undefined)
    faults.push(['expected_type', 'came from the cache']);
  const condition = type === undefined ? undefined : CONDITIONS[type];
  if (condition !== undefined && first !== undefined && first.headers[condition] === undefined)
    faults.push(['expected_type', `was sent without ${condition}`]);
  const status =
    step.expected_status ?? (condition === undefined ? step.response_status?.[0] : undefined) ?? 200;
  if (reply.status !== status && !(step.disconnect === true && step.expected_status === undefined))
    faults.push(['expected_status', `answered ${reply.status}, not ${status}`]);
  for (const expected of step.expected_response_headers ?? []) {
    const fault = headerFault(expected, reply.headers);
    if (fault !== null) faults.push(['expected_response_headers', fault]);
  }
  for (const missing of step.expected_response_headers_missing ?? []) {
    const [name = '', part = ''] = [missing].flat();
    if (reply.headers[name.toLowerCase()]?.includes(part) === true)
      faults.push(['expected_response_headers_missing', `has ${name}`]);
  }
  for (const expected of first === undefined ? [] : (step.expected_request_headers ?? [])) {
    const fault = headerFault(expected, first?.headers as Reply['headers']);
    if (fault !== null) faults.push(['expected_request_headers', fault]);
  }
  if (step.expected_method !== undefined && first?.method !== step.expected_method)
    faults.push(['expected_method', `was asked by ${first?.method}`]);
  return faults;
}

/** A name; a name and its value; a name, `>` and a number; a name, `=` and another header. */
function headerFault(
  expected: string | readonly (string | number)[],
  headers: Reply['headers'],
): string | null {
  const [name, sign, other] = [expected].flat();
  const value = headers[String(name).toLowerCase()];
  const shown = `${name} is ${JSON.stringify(value ?? null)}`;
  if (value === undefined) return `${name} is missing`;
  if (sign === undefined) return null;
  if (other === undefined) return value === String(sign) ? null : shown;
  const holds = sign === '>' ? Number(value) > Number(other) : value === headers[String(other).toLowerCase()];
  return holds ? null : shown;
}

/** 304 where the request has the validator of the answer before. */
function statusOf(step: Step, before: Step | undefined, headers: IncomingHttpHeaders, nowMs: number): number {
  const status = step.response_status?.[0] ?? 200;
  if (step.expected_type?.endsWith('validated') !== true) return status;
  const validators = new Map(joined(before?.response_headers, before ?? {}, nowMs));
  const same = (condition: string, validator: string) =>
    headers[condition] !== undefined && headers[condition] === validators.get(validator)?.[0];
  return same('if-none-match', 'etag') || same('if-modified-since', 'last-modified') ? 304 : status;
}

/** Lines of one name together, dates written out. */
function joined(lines: readonly HeaderLine[] = [], step: Step, nowMs: number): [string, string[]][] {
  const headers = new Map<string, string[]>();
  for (const [written, value] of lines) {
    const name = written.toLowerCase();
    const isDate = DATES.has(name) && typeof value === 'number';
    const text = isDate
      ? httpDate(nowMs + value * SECOND, step.rfc850date?.includes(name) === true)
      : `${value}`;
    headers.set(name, [...(headers.get(name) ?? []), text]);
  }
  return [...headers];
}

function httpDate(ms: number, old: boolean): string {
  const text = new Date(ms).toUTCString();
  if (!old) return text;
  const [, day, month, year, clock] = text.split(' ');
  const name = new Date(ms).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  return `${name}, ${day}-${month}-${year?.slice(2)} ${clock} GMT`;
}

function bodiless(status: number): boolean {
  return status === 204 || status === 304;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
