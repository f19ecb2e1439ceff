/** Commands that sign in through a browser. */
import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { type Answer, Browser, PUBLIC, type SignInOptions, withSignIn } from './signed-in.js';

export const VERIFIER = randomBytes(32).toString('base64url');
const challengeFor = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');
export const ASKED = `/auth/cli?port=4711&challenge=${challengeFor(VERIFIER)}`;

export async function company(groups = 'admins', options: SignInOptions = {}) {
  const opened = await withSignIn(options);
  opened.provider.claims = { sub: 'ada', name: 'Ada Lovelace', groups: [groups] };
  return { ...opened, browser: new Browser(opened.gateway.admin, 'admin') };
}

export type Company = Awaited<ReturnType<typeof company>>;

/** From the page of the command to its question, by a sign-in if need be. */
export async function ask(
  { browser, provider }: Pick<Company, 'browser' | 'provider'>,
  path: string,
): Promise<Answer> {
  const page = await browser.ask(path);
  if (page.statusCode !== 302) return page;
  const login = String(page.headers.location);
  expect(login).toMatch(/^\/auth\/login\?to=/);
  const there = await browser.ask(login);
  const signedIn = await browser.finish(await provider.signIn(String(there.headers.location)));
  if (signedIn.statusCode !== 200) return signedIn;
  const [, to = ''] = /^0;url=(.*)$/.exec(String(signedIn.headers.refresh)) ?? [];
  return browser.ask(to.replace(PUBLIC.admin, ''));
}

export function membersOf({ body }: Answer): Record<string, string> {
  const inputs = body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value]));
}

/** Answers yes. @returns the page with the way back to the command */
export function say(
  browser: Browser,
  members: object,
  headers: Record<string, string> = { origin: PUBLIC.admin },
) {
  const payload = new URLSearchParams(members as Record<string, string>).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return browser.ask('/auth/cli', { ...type, ...headers }, true, { method: 'POST', payload });
}

export const wayBack = (page: Answer) => new URL(String(page.headers.refresh).replace('0;url=', ''));

export const exchange = ({ gateway }: Pick<Company, 'gateway'>, code: string, verifier = VERIFIER) =>
  gateway.admin.inject({ method: 'POST', url: '/auth/cli/exchange', payload: { code, verifier } });

export async function codeFor(opened: Company): Promise<string> {
  const question = await ask(opened, ASKED);
  return wayBack(await say(opened.browser, membersOf(question))).searchParams.get('code') ?? '';
}

export async function tokenFor(opened: Company): Promise<string> {
  return (await exchange(opened, await codeFor(opened))).json<{ token: string }>().token;
}

export const call = ({ gateway }: Pick<Company, 'gateway'>, url: string, token: string, rest: object = {}) =>
  gateway.admin.inject({ method: 'GET', url, headers: { authorization: `Bearer ${token}` }, ...rest });
