/** `{"from": "0001-01-01", "to": "9999-12-31", "dryRun": true}` listed each of 3.65 million days to count them: 11 s for all. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { withGateway } from '../support/start-gateway.js';

it('counts days without listing them', async () => {
  const { manage } = await withGateway();
  const { toISOString } = Date.prototype;
  let dates = 0;
  // As work, for a machine may be as slow as it likes: each day that is written takes one.
  const written = vi.spyOn(Date.prototype, 'toISOString').mockImplementation(function write(this: Date) {
    dates += 1;
    if (dates === 1000) throw new Error('days are listed one by one');
    return toISOString.call(this);
  });
  onTestFinished(() => written.mockRestore());
  const scope = { from: '0001-01-01', to: '9999-12-31' };
  const { preview } = await manage('POST', '/cache/purge', { ...scope, dryRun: true });
  expect(preview).toMatchObject({ days: 3_652_059 });
});
