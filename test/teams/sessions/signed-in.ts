/** A browser that is signed in, as far as a server sees one: a cookie, a host, an origin, and the session's csrf. */
import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import { type Reply, replyOf } from '../../support/start-gateway.js';

export const HOST = 'gateway.test';
export const ORIGIN = `http://${HOST}`;

export interface Browser {
  readonly cookie: string;
  readonly csrf: string;
  /** What it sends with a GET. */
  readonly reads: Readonly<Record<string, string>>;
  /** What it sends with a change. */
  readonly changes: Readonly<Record<string, string>>;
}

interface Ask {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly json?: unknown;
  readonly from?: string;
}

export async function ask(app: FastifyInstance, url: string, options: Ask = {}): Promise<Reply> {
  const { method = 'GET', headers = {}, json, from } = options;
  const response = await app.inject({
    method,
    url,
    headers: {
      host: HOST,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? {} : { payload: JSON.stringify(json) }),
    ...(from === undefined ? {} : { remoteAddress: from }),
  });
  return replyOf(response);
}

/** `name=value` of the cookie that an answer sets. */
function cookieOf(reply: Pick<Reply, 'headers'>): string {
  return String(reply.headers['set-cookie']).split(';', 1)[0] ?? '';
}

/** @param url of the session. @param body what signs in */
export async function signIn(
  app: FastifyInstance,
  url: string,
  body: object,
  options: Ask = {},
): Promise<Browser> {
  const reply = await ask(app, url, { method: 'POST', json: body, ...options });
  expect([reply.status, reply.text]).toEqual([201, expect.stringContaining('csrf')]);
  return browserOf(cookieOf(reply), reply.json<{ csrf: string }>().csrf);
}

function browserOf(cookie: string, csrf: string): Browser {
  return { cookie, csrf, reads: { cookie }, changes: { cookie, origin: ORIGIN, 'x-csrf-token': csrf } };
}
