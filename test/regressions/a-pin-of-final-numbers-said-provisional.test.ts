/** A pin said of an answer from history by when its rows were first fetched whether they are final, and not by what was seen since. */
import { expect, it } from 'vitest';
import { BY_DATE, historyScene } from '../gateway/history-scene.js';
import { reportIn } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

it('a pin is as final as the answer that it is a copy of', async () => {
  const { gateway, key, ask } = await historyScene('', { switches: { restateDays: 0 } });
  await ask(BY_DATE);
  gateway.clock.advance(10 * DAY);
  await ask(BY_DATE);
  const query = `${BY_DATE}&_vintage=final`;
  expect(reportIn(await ask(query)).meta.final).toBe(true);
  const pin = await gateway.call('/gateway/v1/pins', {
    method: 'POST',
    key,
    json: { endpoint: 'campaigns/get', query },
  });
  expect(pin.json()).toMatchObject({ final: true });
});
