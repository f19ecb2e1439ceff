import { describe, expect, it } from 'vitest';
import { serverTiming } from '../../../src/api/http/finish.js';
import { withGateway } from '../../support/start-gateway.js';

describe('server-timing', () => {
  it('adds up the turns of a stage, in the order of the first', () => {
    const stages = [
      { stage: 'admit', endedMs: 1 },
      { stage: 'fetch', endedMs: 4.5 },
      { stage: 'keep', endedMs: 5 },
      { stage: 'fetch', endedMs: 7 },
    ] as const;
    expect(serverTiming({ stages }, 8.006)).toBe(
      'admit;dur=1.00, fetch;dur=5.50, keep;dur=0.50, total;dur=8.01',
    );
    expect(serverTiming({ stages: [] }, 0)).toBe('total;dur=0.00');
  });

  it('is sent with misses, hits and refusals where the setting says so', async () => {
    const gateway = await withGateway({ config: { server: { serverTiming: true } }, logLevel: 'warn' });
    const key = await gateway.addTeam();
    const query = 'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-02';
    const timed = async (target: string) => {
      const { headers } = await gateway.report(key, target);
      return (headers['server-timing'] ?? '').split(', ').map((part) => part.replace(/;dur=\d+\.\d\d$/, ''));
    };
    expect(await timed(query)).toEqual(
      expect.arrayContaining(['admit', 'understand', 'look-up', 'decide', 'fetch', 'keep', 'total']),
    );
    expect(await timed(query)).toEqual(['admit', 'understand', 'render', 'total']);
    expect(await timed('byDate=maybe')).toEqual(['admit', 'total']);
  });

  it('is not sent otherwise', async () => {
    const gateway = await withGateway();
    const { headers } = await gateway.report(await gateway.addTeam(), 'advertiserId=1');
    expect(headers).not.toHaveProperty('server-timing');
  });
});
