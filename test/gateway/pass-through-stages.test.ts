import { describe, expect, it } from 'vitest';
import { type Handler, sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, type TestGateway } from '../support/start-gateway.js';

interface Mark {
  readonly stage: string;
  readonly endedMs: number;
}

async function open(handler: Handler) {
  const platform = await startRawPlatform(handler);
  const gateway = await gatewayAt(platform, { config: { platform: { retry: { baseMs: 1 } } } });
  return { platform, gateway, key: await gateway.addTeam() };
}

/** The stages of the requests so far that have any. */
function stagesIn(gateway: TestGateway): readonly (readonly Mark[])[] {
  return gateway.log
    .filter(({ msg }) => msg === 'stages of the request')
    .map(({ stages }) => stages as readonly Mark[])
    .filter(([first]) => first?.stage === 'admit');
}

const namesIn = (gateway: TestGateway) => stagesIn(gateway).map((marks) => marks.map(({ stage }) => stage));

describe('what is passed through', () => {
  it('is admitted, checked, given a slot, fetched and answered, in this order and with times', async () => {
    const { gateway, key } = await open(sends('{"ok":true}'));
    await gateway.call('/api/v1/campaign/1', { key });
    expect(namesIn(gateway)).toEqual([['admit', 'check', 'acquire', 'fetch', 'answer']]);
    const times = stagesIn(gateway)
      .flat()
      .map(({ endedMs }) => endedMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.every((ms) => ms >= 0)).toBe(true);
  });

  it('acquires again for a second try', async () => {
    const { platform, gateway, key } = await open((_request, response) => {
      response.statusCode = platform.requests.length === 1 ? 503 : 200;
      response.end('{}');
    });
    await gateway.call('/api/v1/campaign/1', { key });
    expect(namesIn(gateway)).toEqual([['admit', 'check', 'acquire', 'acquire', 'fetch', 'answer']]);
  });

  it('goes no further than the stage that refuses it', async () => {
    const { platform, gateway, key } = await open((_request, response) => {
      response.statusCode = 500;
      response.end();
    });
    const limited = await gateway.addTeam({ advertisers: [1] });
    await gateway.call('/api/v1/campaign/1', { key: limited });
    await gateway.call('/api/v1/campaign/1?_method=DELETE', { key });
    expect(platform.requests).toHaveLength(0);
    await gateway.call('/api/v1/campaign/1', { key });
    expect(namesIn(gateway)).toEqual([['admit'], ['admit'], ['admit', 'check', 'acquire']]);
  });

  it('is not fetched where the first answer to its idempotency key is given again', async () => {
    const { gateway, key } = await open(sends('{"id":7}', { 'content-type': 'application/json' }, 201));
    const headers = { 'idempotency-key': 'once' };
    for (let n = 0; n < 2; n++)
      await gateway.call('/api/v1/campaign/create', { method: 'POST', key, headers, json: { name: 'x' } });
    expect(namesIn(gateway)).toEqual([
      ['admit', 'check', 'acquire', 'fetch', 'answer'],
      ['admit', 'check', 'answer'],
    ]);
  });
});
