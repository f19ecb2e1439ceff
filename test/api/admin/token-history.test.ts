/** Which process asks with which token, and since when: `GET /admin/v1/status` tells it of each. */
import { expect, it } from 'vitest';
import { withGateway } from '../../support/start-gateway.js';
import { HOUR } from '../../support/test-clock.js';

interface Tokens {
  readonly active: { readonly id: string };
}

it('each process tells which token it asks with, and since when', async () => {
  const gateway = await withGateway();
  const activeId = async () => ((await gateway.manage('GET', '/token')) as unknown as Tokens).active.id;
  const processes = async () => (await gateway.manage('GET', '/status')).processes;
  const first = await activeId();
  expect(await processes()).toMatchObject([
    { pid: process.pid, tokenId: first, tokenSince: expect.any(String) },
  ]);
  gateway.clock.advance(HOUR);
  const token = gateway.simulator.issueToken();
  await gateway.manage('POST', '/token/rotate', { token, force: true });
  const then = await activeId();
  expect(then).not.toBe(first);
  expect(await processes()).toMatchObject([{ tokenId: then, tokenSince: '2026-11-21T13:00:00.000Z' }]);
  expect(JSON.stringify(await processes())).not.toContain(token);
});
