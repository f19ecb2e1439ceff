/** `_asOf`: what was known at a past moment, from history alone. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { type Reply, reportIn, type SimulatedGateway, withGateway } from '../support/start-gateway.js';
import { DAY, MINUTE } from '../support/test-clock.js';

const SERIES = 'advertiserId=1&byDate=1';
const QUERY = `${SERIES}&dateFrom=2026-11-17&dateTo=2026-11-19`;

interface Scene {
  readonly gateway: SimulatedGateway;
  /** Asks, and waits until what was learned of it is written down. */
  readonly ask: (query: string) => Promise<Reply>;
}

async function scene(): Promise<Scene> {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await prove(gateway, key);
  return {
    gateway,
    async ask(query) {
      const reply = await gateway.report(key, query);
      await gateway.services.settled();
      return reply;
    },
  };
}

const knownAt = (reply: Reply) => reportIn(reply).meta.knownAt as string;
const asOf = (reply: Reply) => `${QUERY}&_asOf=${knownAt(reply)}`;
const problemIn = (reply: Reply) =>
  JSON.parse(reply.text) as { code: string; detail: string; errors?: { param: string; message: string }[] };

describe('a report as of a past moment', () => {
  it('has the rows, and the revision, that the answer had then, though the platform restated since', async () => {
    const { gateway, ask } = await scene();
    const first = await ask(QUERY);
    gateway.clock.advance(2 * 60 * MINUTE);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-18', to: '2026-11-18' });
    const second = await ask(`${QUERY}&_days=1`);
    gateway.clock.advance(2 * 60 * MINUTE);
    const third = await ask(QUERY);
    expect(reportIn(third).data).not.toEqual(reportIn(first).data);
    expect(third.headers['report-revision']).not.toBe(first.headers['report-revision']);
    expect(reportIn(second).data).toBeDefined();

    const calls = gateway.simulator.callCount;
    const then = await ask(asOf(first));
    expect(reportIn(then).data).toEqual(reportIn(first).data);
    expect(then.headers['report-revision']).toBe(first.headers['report-revision']);
    expect(reportIn(then).meta).toMatchObject({
      knownAt: knownAt(first),
      revision: first.headers['report-revision'],
      stale: false,
    });
    expect(reportIn(await ask(asOf(third))).data).toEqual(reportIn(third).data);
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('says of each day since when it was known, and until when it was seen again', async () => {
    const { gateway, ask } = await scene();
    const first = await ask(QUERY);
    gateway.clock.advance(3 * 60 * MINUTE);
    const later = await ask(QUERY);
    gateway.clock.advance(3 * 60 * MINUTE);
    const now = new Date(gateway.clock.now()).toISOString();
    const { meta } = reportIn(await ask(`${QUERY}&_days=1&_asOf=${now}`));
    expect(meta.knownAt).toBe(now);
    const { days = [] } = meta;
    expect(days).toHaveLength(3);
    expect(days[0]).toMatchObject({
      date: '2026-11-17',
      knownFrom: knownAt(first),
      exact: true,
      stale: false,
    });
    expect(Date.parse(String(days[0]?.confirmedUntil))).toBeGreaterThan(Date.parse(knownAt(first)));
    expect(reportIn(later).data).toEqual(reportIn(first).data);
  });

  it('is 404 where a day was not known by then, with the days and the first moment at which all were', async () => {
    const { gateway, ask } = await scene();
    const before = new Date(gateway.clock.now() - 1000).toISOString();
    const first = await ask(QUERY);
    const reply = await ask(`${QUERY}&_asOf=${before}`);
    expect(reply.status).toBe(404);
    expect(problemIn(reply)).toMatchObject({ code: 'not_known_then' });
    expect(problemIn(reply).detail).toContain('2026-11-17, 2026-11-18, 2026-11-19');
    expect(problemIn(reply).detail).toContain(knownAt(first));
    const never = await ask(`${SERIES}&dateFrom=2026-01-01&dateTo=2026-01-02&_asOf=${before}`);
    expect(problemIn(never).detail).toMatch(/2026-01-01, 2026-01-02.*never written down.*no-cache/);
  });

  it('takes a day that is over for its end', async () => {
    const { gateway, ask } = await scene();
    const first = await ask(QUERY);
    gateway.clock.advance(DAY);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-17', to: '2026-11-19' });
    const second = await ask(`${QUERY}&_days=1`);
    const then = await ask(`${QUERY}&_asOf=2026-11-21`);
    expect(reportIn(then).data).toEqual(reportIn(first).data);
    expect(reportIn(then).meta.knownAt).toBe('2026-11-21T23:59:59.999Z');
    expect(reportIn(second).data).toBeDefined();
  });

  it.each([
    ['an instant in the future', `${QUERY}&_asOf=2027-01-01T00:00:00Z`, /future/],
    ['a day that is not over', `${QUERY}&_asOf=2026-11-21`, /not over/],
    ['no instant', `${QUERY}&_asOf=yesterday`, /instant with its offset/],
    ['an instant without its offset', `${QUERY}&_asOf=2026-11-01T00:00:00`, /instant with its offset/],
    [
      'a report that is not by date',
      'advertiserId=1&dateFrom=2026-11-17&dateTo=2026-11-19&_asOf=2026-11-20',
      /byDate=1/,
    ],
    ['a report without a period', `${SERIES}&_asOf=2026-11-20`, /dateFrom and dateTo/],
    ['the platform’s bytes', `${QUERY}&_format=raw&_asOf=2026-11-20`, /_format=raw/],
    ['totals', `${QUERY}&_totals=1&_asOf=2026-11-20`, /_totals/],
  ])('refuses %s', async (_what, query, message) => {
    const { ask } = await scene();
    const reply = await ask(query);
    expect(reply.status).toBe(400);
    expect(problemIn(reply).errors).toEqual([{ param: '_asOf', message: expect.stringMatching(message) }]);
  });

  it('is no way to an advertiser that the team may not see', async () => {
    const { gateway, ask } = await scene();
    await ask(QUERY);
    const other = await gateway.addTeam({ id: 'other', advertisers: [2] });
    const reply = await gateway.report(
      other,
      `${QUERY}&_asOf=${new Date(gateway.clock.now()).toISOString()}`,
    );
    expect(problemIn(reply).code).toBe('advertiser_forbidden');
  });
});

it('what is not kept is said to be not kept, whether the kind is proven or not', async () => {
  const gateway = await withGateway({ config: { history: { enabled: false } } });
  const key = await gateway.addTeam();
  const about = `endpoint=campaigns/get&query=${encodeURIComponent(QUERY)}`;
  for (const reply of [
    await gateway.report(key, `${QUERY}&_asOf=2026-11-01`),
    await gateway.report(key, `${QUERY}&_vintage=first`),
    await gateway.call(`/gateway/v1/diff?${about}&from=first&to=latest`, { key }),
  ])
    expect(reply.json()).toMatchObject({
      code: 'not_known_then',
      detail: expect.stringContaining('No history is kept'),
    });
});
