/** A parameter's name of 400 kB in a body came back in `detail` and again in `help`. */
import { expect, it } from 'vitest';
import { GatewayError, toProblem } from '../../src/errors.js';
import { outcomeOf, REPORT, withGateway } from '../support/start-gateway.js';

const LONG = `advertiser_${'x'.repeat(400_000)}_id`;

it('is cut in an answer, wherever it stands', async () => {
  const gateway = await withGateway({
    config: { report: { endpoints: { 'campaigns/get': { readByPost: true } } } },
  });
  const key = await gateway.addTeam({ advertisers: [1] });
  const reply = await gateway.call(REPORT, { key, method: 'POST', json: { advertiserId: 1, [LONG]: 2 } });
  expect(outcomeOf(reply)).toMatch(/^4\d\d /);
  expect(reply.body.length).toBeLessThan(10_000);
});

it('leaves a sentence of a usual length whole', () => {
  const detail = 'A sentence. '.repeat(60);
  expect(toProblem(new GatewayError('conflict', { detail }), 'id').detail).toBe(detail);
});
