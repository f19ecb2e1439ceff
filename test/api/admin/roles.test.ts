/** Who may do what: the table holds for every route, and every route is in it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AdminAuth } from '../../../src/api/admin/authenticate-admin.js';
import { registerAdminPlane } from '../../../src/api/admin/plane.js';
import { ADMIN_OPERATIONS, callsOf, isAllowed } from '../../../src/api/operations/table.js';
import type { AdminRole } from '../../../src/config/sign-in-settings.js';
import type { GatewayError } from '../../../src/errors.js';
import type { Problem } from '../../../src/lib/http/problem.js';
import { ADMIN_TOKEN, type GatewayOptions, startGateway } from '../../support/start-gateway.js';
import { adminRoutes } from './admin-calls.js';

const ROLES: readonly AdminRole[] = ['viewer', 'operator', 'owner'];
const tokenOf = (role: AdminRole) => `named-token-of-the-${role}`;

/** A gateway with a token for each role, and the test clock's route. */
async function start(config: Readonly<Record<string, unknown>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-roles-'));
  const adminTokens = await Promise.all(
    ROLES.map(async (role) => {
      const tokenFile = join(folder, role);
      await writeFile(tokenFile, tokenOf(role));
      return { name: `the-${role}`, role, tokenFile };
    }),
  );
  const options: GatewayOptions = { config: { testClock: true, ...config, auth: { adminTokens } } };
  const gateway = await startGateway(options);
  const as = async (token: string, route: string, json: unknown = {}) => {
    const [method = '', url = ''] = route.split(' ');
    const bodiless = method === 'GET' || method === 'HEAD';
    return gateway.admin.inject({
      method: method as 'GET',
      // A tail would go on until its caller leaves.
      url: url.replace(':id', 'some-id').replace(/tail$/, 'tail?outcome=none'),
      headers: {
        authorization: `Bearer ${token}`,
        ...(bodiless ? {} : { 'content-type': 'application/json' }),
      },
      ...(bodiless ? {} : { payload: JSON.stringify(json) }),
    });
  };
  async function close() {
    await gateway.close();
    await rm(folder, { recursive: true });
  }
  return { gateway, folder, as, close };
}

let shared: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  shared = await start();
});
afterAll(() => shared.close());

const leastRole = (route: string) => ADMIN_OPERATIONS.find(({ call }) => call === route)?.by ?? 'owner';

describe('the table of roles', () => {
  it('names every route of the admin plane, and no other', async () => {
    const { gateway } = shared;
    const routes = (await adminRoutes(gateway.admin)).filter((route) => route.includes('/admin/v1/'));
    expect(routes.length).toBeGreaterThan(20);
    expect(ADMIN_OPERATIONS.map(({ call }) => call).sort()).toEqual(routes.sort());
  });

  it('leaves secrets, erasure and backups to owners, and changes to operators', () => {
    const rest = (role: AdminRole, lower: AdminRole) =>
      callsOf(role).filter((call) => !callsOf(lower).includes(call));
    expect(callsOf('viewer').filter((call) => !call.startsWith('GET '))).toEqual([
      'POST /admin/v1/session',
      'DELETE /admin/v1/session',
    ]);
    expect(rest('operator', 'viewer').sort()).toEqual([
      'DELETE /admin/v1/keys/:id',
      'DELETE /admin/v1/sessions/:id',
      'DELETE /admin/v1/teams/:id',
      'PATCH /admin/v1/teams/:id',
      'POST /admin/v1/cache/purge',
      'POST /admin/v1/doctor',
      'POST /admin/v1/keys/:id/roll',
      'POST /admin/v1/persons/:id/revoke-keys',
      'POST /admin/v1/persons/:id/revoke-sessions',
      'POST /admin/v1/teams',
      'POST /admin/v1/teams/:id/keys',
      'POST /admin/v1/teams/apply',
      'POST /admin/v1/writes/resume',
      'POST /admin/v1/writes/settle',
      'POST /admin/v1/writes/stop',
      'PUT /admin/v1/clock',
    ]);
    expect(rest('owner', 'operator').sort()).toEqual([
      'GET /admin/v1/registry/export',
      'POST /admin/v1/history/accept-empty',
      'POST /admin/v1/history/erase',
      'POST /admin/v1/registry/import',
      'POST /admin/v1/store/backup',
      'POST /admin/v1/token/activate',
      'POST /admin/v1/token/discard',
      'POST /admin/v1/token/mint',
      'POST /admin/v1/token/reseal',
      'POST /admin/v1/token/rollback',
      'POST /admin/v1/token/rotate',
      'POST /admin/v1/token/stage',
      'POST /admin/v1/token/verify',
    ]);
  });

  it('leaves a route without a role to owners', async () => {
    const admins = ROLES.map((role) => ({ name: role, role, token: { read: () => tokenOf(role) } }));
    const app = Fastify();
    app.setErrorHandler((error: GatewayError, _request, reply) => reply.code(error.status).send());
    await registerAdminPlane(app, { admins } as unknown as AdminAuth, (scope) => {
      scope.get('/admin/v1/new', async () => ({}));
    });
    const statuses = ROLES.map(async (role) => {
      const headers = { authorization: `Bearer ${tokenOf(role)}` };
      return (await app.inject({ url: '/admin/v1/new', headers })).statusCode;
    });
    expect(await Promise.all(statuses)).toEqual([403, 403, 200]);
  });

  it('orders the roles', () => {
    const allowed = ROLES.map((role) => ROLES.map((least) => isAllowed(role, least)));
    expect(allowed).toEqual([
      [true, false, false],
      [true, true, false],
      [true, true, true],
    ]);
  });
});

describe.each(ROLES)('a token of the role %s', (role) => {
  it('may make exactly the calls of its role', async () => {
    const { gateway, as } = shared;
    for (const route of await adminRoutes(gateway.admin)) {
      if (!route.includes('/admin/v1/')) continue;
      const [method = '', url = ''] = route.split(' ');
      const allowed = isAllowed(role, leastRole(route));
      const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
      for (const one of methods) {
        const answer = await as(
          tokenOf(role),
          `${one} ${url}`,
          ['POST', 'PUT'].includes(one) ? { no: 1 } : {},
        );
        expect({ route: `${one} ${url}`, refused: answer.statusCode === 403 }).toEqual({
          route: `${one} ${url}`,
          refused: !allowed,
        });
        if (allowed || one === 'HEAD') continue;
        const { code, detail } = answer.json<Problem>();
        expect([code, detail]).toEqual([
          'forbidden',
          `This call needs the role ${leastRole(route)}; the token the-${role} has the role ${role}.`,
        ]);
      }
    }
  });
});

describe('a named token', () => {
  it('stands in the audit by its name', async () => {
    const { gateway, as } = shared;
    for (const [token, id] of [
      [tokenOf('operator'), 'by-operator'],
      [tokenOf('owner'), 'by-owner'],
      [ADMIN_TOKEN, 'by-admin'],
    ] as const) {
      expect((await as(token, 'POST /admin/v1/teams', { id })).statusCode).toBe(201);
    }
    const { entries } = (await gateway.manage('GET', '/audit?limit=3')) as {
      entries: { actor: string; subject: string }[];
    };
    expect(entries.map(({ actor, subject }) => [actor, subject])).toEqual([
      ['admin', 'by-admin'],
      ['the-owner', 'by-owner'],
      ['the-operator', 'by-operator'],
    ]);
  });

  it('that is refused changes nothing and is not in the audit', async () => {
    const { gateway, as } = shared;
    const state = async () => [await gateway.manage('GET', '/audit'), await gateway.manage('GET', '/teams')];
    const before = await state();
    expect((await as(tokenOf('viewer'), 'POST /admin/v1/teams', { id: 'x' })).statusCode).toBe(403);
    expect(await state()).toEqual(before);
  });

  it('changes with its file, at once', async () => {
    const { gateway, folder, as } = shared;
    await writeFile(join(folder, 'viewer'), 'another-token-of-the-viewer');
    for (const secret of gateway.services.config.fileSecrets) secret.refresh();
    const status = async (token: string) => (await as(token, 'GET /admin/v1/status')).statusCode;
    expect(await status('another-token-of-the-viewer')).toBe(200);
    expect(await status(tokenOf('viewer'))).toBe(401);
  });

  it('opens nothing when it is nearly right', async () => {
    const { as } = shared;
    for (const token of [
      `${tokenOf('owner')}x`,
      tokenOf('owner').slice(0, -1),
      tokenOf('owner').toUpperCase(),
    ])
      expect((await as(token, 'GET /admin/v1/status')).statusCode).toBe(401);
  });

  it('of any role may read the metrics where they ask for a token', async () => {
    const { as, close } = await start({ server: { metricsAuth: true } });
    onTestFinished(close);
    expect((await as(tokenOf('viewer'), 'GET /metrics')).statusCode).toBe(200);
    expect((await as('nobody', 'GET /metrics')).statusCode).toBe(401);
  });
});
