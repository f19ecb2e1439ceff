/**
 * Where no history is kept, `_asOf`, `_vintage` and the diff asked callers for a few more reports, as if history came with
 * the proof that they may be split by day.
 */
import { expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { aboutReport, BY_DATE } from '../gateway/history-scene.js';
import { withGateway } from '../support/start-gateway.js';

it('what is not kept is said to be not kept, whether the kind is proven or not', async () => {
  const gateway = await withGateway({ config: { history: { enabled: false } } });
  const key = await gateway.addTeam({ id: 'early' });
  const replies = [
    await gateway.report(key, `${BY_DATE}&_asOf=2026-11-01`),
    await gateway.report(key, `${BY_DATE}&_vintage=first`),
    await gateway.call(`/gateway/v1/diff?${aboutReport(BY_DATE)}&from=first&to=latest`, { key }),
  ];
  for (const reply of replies)
    expect(reply.json<Problem>()).toMatchObject({
      code: 'not_known_then',
      detail: expect.stringContaining('No history is kept'),
    });
});
