/** Words of callers that are names of what every object has must be words like any other. */
import { describe, expect, it, vi } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, withGateway } from '../support/start-gateway.js';

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1,"spent":"1.50"}]}';
const day = (of: number) => `advertiserId=1&dateFrom=2026-10-${of}&dateTo=2026-10-${of}`;

describe('a team named constructor', () => {
  it('takes its turns like any other, and leaves the turns of others as they are', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1 } } });
    const keys: string[] = [];
    for (const id of ['constructor', 'growth', 'small']) keys.push(await gateway.addTeam({ id }));
    const [own, growth, small] = keys as [string, string, string];
    const ask = (key: string, of: number) => gateway.report(key, day(of));
    const queued = async (count: number) =>
      await vi.waitFor(() => expect(gateway.services.budget.queued).toBe(count));
    platform.release();
    expect(outcomeOf(await ask(own, 28))).toBe('200');
    platform.hold();
    const answers = [ask(own, 10)];
    await platform.arrived(2);
    for (const [at, [key, of]] of (
      [
        [growth, 11],
        [growth, 12],
        [growth, 13],
        [small, 14],
      ] as const
    ).entries()) {
      answers.push(ask(key, of));
      await queued(at + 1);
    }
    platform.release();
    expect((await Promise.all(answers)).map(outcomeOf)).toEqual(Array(5).fill('200'));
    const asked = platform.requests.map(({ url }) => /dateFrom=2026-10-(\d+)/.exec(url ?? '')?.[1]);
    expect(asked).toEqual(['28', '10', '11', '14', '12', '13']);
  });
});

describe.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('%s', (word) => {
  it('is an endpoint, a parameter, a value and an account like any other word', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const asked = [
      await gateway.call(`/api/v1/report/${word}`, { key }),
      await gateway.call(`/api/v1/${word}`, { key }),
      await gateway.report(key, `${day(10)}&${word}=1`),
      await gateway.report(key, `${day(10)}&spentBased=${word}`),
      await gateway.report(key, `advertiserId=${word}`),
      await gateway.call(`/api/v1/report/other/get?userId=${word}`, { key }),
      await gateway.call(`/api/v1/report/other/get?byDate=1&advertiserId=${word}&dateFrom=2026-10-10`, {
        key,
      }),
    ];
    for (const reply of asked) expect(reply.status, reply.text).toBeLessThan(500);
  });
});
