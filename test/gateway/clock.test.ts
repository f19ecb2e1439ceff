import { expect, it, vi } from 'vitest';
import { withGateway } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

it('a process that makes no fetch compares its clock with that of the store each hour', async () => {
  const { reporting, store } = (await withGateway()).services;
  const compare = reporting.everywhere['look at the clock of the store'];
  const claim = vi.spyOn(store.days, 'claim');
  await compare(() => false);
  expect(claim).not.toHaveBeenCalled();
  const uptimeMs = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(uptimeMs + HOUR);
  await compare(() => false);
  await compare(() => false);
  expect(claim).toHaveBeenCalledTimes(1);
});
