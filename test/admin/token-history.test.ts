/** `GET /admin/v1/token`: which process holds which token since when, and which tries failed. */
import { expect, it } from 'vitest';
import { ADMIN_TOKEN, withGateway } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

interface Shown {
  readonly active: { readonly id: string };
  readonly replicas: readonly object[];
  readonly tries: readonly {
    readonly action: string;
    readonly outcome: string;
    readonly reason: string | null;
  }[];
}

it('each process tells which token it asks with, and since when', async () => {
  const gateway = await withGateway();
  const shown = async () => (await gateway.manage('GET', '/token')) as unknown as Shown;
  const first = await shown();
  expect(first.replicas).toMatchObject([
    { pid: process.pid, tokenId: first.active.id, since: expect.any(String), isActive: true },
  ]);
  gateway.clock.advance(HOUR);
  const token = gateway.simulator.issueToken();
  await gateway.manage('POST', '/token/rotate', { token, force: true });
  const then = await shown();
  expect(then.active.id).not.toBe(first.active.id);
  expect(then.replicas).toMatchObject([
    { tokenId: then.active.id, since: '2026-11-21T13:00:00.000Z', isActive: true },
  ]);
  expect(JSON.stringify(then)).not.toContain(token);
});

it('a try that failed is told as failed, with its reason', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await gateway.report(key, 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-02');
  await gateway.services.settled();
  const { statusCode } = await gateway.admin.inject({
    ...{ method: 'POST', url: '/admin/v1/token/rotate', payload: { token: 'no-token-of-the-platform' } },
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect(statusCode).toBe(409);
  const { tries } = (await gateway.manage('GET', '/token')) as unknown as Shown;
  expect(tries.slice(0, 3)).toMatchObject([
    { action: 'token.discard', outcome: 'done', reason: null },
    { action: 'token.verify', outcome: 'failed', reason: expect.any(String) },
    { action: 'token.stage', outcome: 'done', reason: null },
  ]);
});
