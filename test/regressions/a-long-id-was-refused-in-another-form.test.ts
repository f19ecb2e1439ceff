/** An id of more than 512 letters was answered with the server library's own JSON, and was in no log. */
import { expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { withGateway } from '../support/start-gateway.js';

it('an id of any length is answered as a problem, by the route it belongs to', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam({ id: 'long', scopes: ['report:read', 'report:pin'] });
  const reply = await gateway.call(`/gateway/v1/pins/pin_${'a'.repeat(3_000)}`, { key });
  expect(reply.headers['content-type']).toMatch('application/problem+json');
  expect(reply.json<Problem>()).toMatchObject({ code: 'not_found', requestId: expect.any(String) });
});
