/** Who may make which call: every operation of both planes, asked by each kind of caller; the page of the docs is what came out. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { ADMIN_OPERATIONS, isAllowed } from '../../../src/api/operations/table.js';
import { ROLES, SCOPES } from '../../../src/config/sign-in-settings.js';
import { Browser, withSignIn } from '../../support/signed-in.js';
import { MINUTE } from '../../support/test-clock.js';
import { adminRoutes } from '../admin/admin-calls.js';

const PAGE = fileURLToPath(new URL('../../../docs/who-may-what.md', import.meta.url));
const JSON_TYPE = { 'content-type': 'application/json' };

/** @returns the answer to a call with a body that nobody takes */
type Ask = (method: string, url: string) => Promise<LightMyRequestResponse>;
interface Asker {
  readonly name: string;
  readonly ask: Ask;
  /** Signs in again, after a call that ended the session. */
  readonly again?: () => Promise<void>;
}

const isBodiless = (method: string) => method === 'GET' || method === 'HEAD';
const bodyFor = (method: string) => (isBodiless(method) ? {} : { payload: '{"no":1}' });

function byHeader(name: string, plane: FastifyInstance, headers: Record<string, string>): Asker {
  return {
    name,
    ask: (method, url) =>
      plane.inject({
        method: method as 'GET',
        url,
        headers: { ...headers, ...(isBodiless(method) ? {} : JSON_TYPE) },
        ...bodyFor(method),
      }),
  };
}

function byBrowser(name: string, browser: Browser, signIn: () => Promise<void>): Asker {
  return {
    name,
    again: signIn,
    ask: (method, url) =>
      isBodiless(method)
        ? browser.ask(url)
        : browser.ask(url, { ...JSON_TYPE, origin: browser.origin, 'x-csrf-token': browser.csrf }, true, {
            method,
            ...bodyFor(method),
          }),
  };
}

/** Whether authentication and rights let the call in, whatever becomes of it. */
async function isLetIn({ ask, again }: Asker, route: string): Promise<boolean> {
  const [method = '', path = ''] = route.split(' ');
  const url = path
    .replace(':id', 'some-id')
    // A tail and a feed go on until their reader leaves.
    .replace(/tail$/, 'tail?outcome=none')
    .replace(/changes$/, 'changes?offset=bad');
  const { statusCode } = await ask(method, url);
  if (method === 'DELETE' && path.endsWith('/session')) await again?.();
  return statusCode !== 401 && statusCode !== 403;
}

async function tableOf(askers: readonly Asker[], routes: readonly string[]) {
  const rows = [];
  for (const route of routes) {
    const cells: boolean[] = [];
    for (const asker of askers) cells.push(await isLetIn(asker, route));
    rows.push({ route, cells });
  }
  return rows;
}

type Rows = Awaited<ReturnType<typeof tableOf>>;

function written(askers: readonly Asker[], rows: Rows): string {
  const head = `| Call | ${askers.map(({ name }) => name).join(' | ')} |\n|---|${'---|'.repeat(askers.length)}`;
  const lines = rows.map(
    ({ route, cells }) =>
      `| \`${route.replace(':id', '{id}')}\` | ${cells.map((may) => (may ? 'yes' : '–')).join(' | ')} |`,
  );
  return [head, ...lines].join('\n');
}

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-matrix-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const adminTokens = await Promise.all(
    ROLES.map(async (role) => {
      const tokenFile = join(folder, role);
      await writeFile(tokenFile, `named-token-of-the-${role}`);
      return { name: `the-${role}`, role, tokenFile };
    }),
  );
  const people = [
    ...ROLES.map((role) => ({ when: { groups: role }, admin: role })),
    { when: { groups: 'data' }, teams: ['data'], keys: true },
  ];
  const opened = await withSignIn({
    config: { testClock: true },
    auth: { adminTokens },
    oidc: { people, keyScopes: ['report:read'] },
  });
  await opened.gateway.manage('PATCH', '/teams/data', { scopes: [...SCOPES], advertisers: '*' });
  return opened;
}

type Opened = Awaited<ReturnType<typeof open>>;

async function signedIn({ gateway, provider, clock }: Opened, plane: 'data' | 'admin', group: string) {
  const browser = new Browser(gateway[plane], plane);
  const signIn = async () => {
    // A minute has thirty sign-ins.
    clock.pass(MINUTE);
    provider.claims = { sub: group, name: group, groups: [group] };
    expect((await browser.signIn(provider)).statusCode).toBe(200);
    await browser.session();
  };
  await signIn();
  return byBrowser(plane === 'admin' ? `person, ${group}` : 'person', browser, signIn);
}

async function adminTable(opened: Opened, key: string) {
  const { admin } = opened.gateway;
  const askers = [
    byHeader('nobody', admin, {}),
    byHeader('team key', admin, { 'x-api-key': key }),
    ...ROLES.map((role) =>
      byHeader(`token, ${role}`, admin, { authorization: `Bearer named-token-of-the-${role}` }),
    ),
  ];
  for (const role of ROLES) askers.push(await signedIn(opened, 'admin', role));
  const routes = (await adminRoutes(admin)).filter((route) => route.includes('/admin/v1/'));
  return { askers, rows: await tableOf(askers, routes) };
}

async function dataTable(opened: Opened, key: string) {
  const { data } = opened.gateway;
  const person = await signedIn(opened, 'data', 'data');
  const browser = new Browser(data, 'data');
  opened.provider.claims = { sub: 'data', name: 'data', groups: ['data'] };
  await browser.signIn(opened.provider);
  await browser.session();
  const own = (await browser.write('POST', '/gateway/v1/keys', {})).json<{ key: string }>().key;
  const origin = 'http://reports.company.example';
  const byKey = new Browser(data, 'data', origin);
  const open = async () => {
    const rest = { method: 'POST', payload: { key } };
    const answer = await byKey.ask('/gateway/v1/session', { origin }, true, rest);
    byKey.csrf = answer.json<{ csrf: string }>().csrf;
  };
  await open();
  const askers = [
    byHeader('nobody', data, {}),
    byHeader('admin token', data, { authorization: 'Bearer named-token-of-the-owner' }),
    byHeader('team key', data, { 'x-api-key': key }),
    byBrowser('explorer by a key', byKey, open),
    person,
    byHeader("person's key", data, { 'x-api-key': own }),
  ];
  const routes = (await adminRoutes(data)).filter((route) => /^\w+ \/(gateway|api|mcp)/.test(route));
  return { askers, rows: await tableOf(askers, routes) };
}

it('every call is let in for those whom the table of the docs names, and for no other', {
  timeout: 120_000,
}, async () => {
  const opened = await open();
  const { key } = (await opened.gateway.manage('POST', '/teams/data/keys', {})) as { key: string };
  const data = await dataTable(opened, String(key));
  const admin = await adminTable(opened, String(key));
  expect(admin.rows.length).toBe(ADMIN_OPERATIONS.length);
  expect(data.rows.length).toBeGreaterThan(25);
  const at = (name: string) => admin.askers.findIndex((asker) => asker.name === name);
  for (const { route, cells } of admin.rows) {
    const { by, isOpen } = ADMIN_OPERATIONS.find(
      ({ call }) => call === route,
    ) as (typeof ADMIN_OPERATIONS)[0] & {
      isOpen?: true;
    };
    for (const role of ROLES) {
      const may = isAllowed(role, by);
      expect([route, role, cells[at(`token, ${role}`)]]).toEqual([route, role, may]);
      expect([route, role, cells[at(`person, ${role}`)]]).toEqual([route, role, may]);
    }
    expect([route, cells[at('nobody')], cells[at('team key')]]).toEqual([
      route,
      isOpen === true,
      isOpen === true,
    ]);
  }
  const page = `${HEAD}\n## Admin plane\n\n${written(admin.askers, admin.rows)}\n\n## Data plane\n\n${DATA}\n\n${written(data.askers, data.rows)}\n`;
  await expect(page).toMatchFileSnapshot(PAGE);
});

const HEAD = `# Who may what

**In short:** each call of both planes, asked by each kind of caller. "yes": authentication and rights let the call in; "–": 401 or 403. This page is
written by a test (\`npx vitest run test/api/sign-in/matrix.test.ts --update\`), which makes all of these calls at a running gateway.

- A *token* is an admin token of a role; a *person* has signed in with a company account and has the role by \`auth.oidc.people\`. The
  command line of a person (\`dsp-gateway login\`) may what the person may. Whoever has a session of the console may also end it.
- \`POST …/session\` is the sign-in with a token or key, so everybody may try. It is refused to a page of another origin: on the data plane
  the person's, who is here at the public address.
`;

const DATA = `The team has all scopes here; without a scope its calls are refused with 403. A key that a person made has the scopes of
\`auth.oidc.keyScopes\`, here \`report:read\`. A person in the explorer acts as one of his teams, read-only below \`/api/v1/\`.`;
