/** `_asOf`, `_vintage` and `meta.knownAt`: what was known at a past moment, or first, or when it was final. */
import { describe, expect, it } from 'vitest';
import { gatewayAt, outcomeOf, type Reply, reportIn, withTeam } from '../support/start-gateway.js';
import { createTestClock, DAY, HOUR, MINUTE, NOON, SECOND } from '../support/test-clock.js';
import { provenScene } from './history-scene.js';

const SERIES = 'advertiserId=1&byDate=1';
const THREE = `${SERIES}&dateFrom=2026-11-17&dateTo=2026-11-19`;

const knownAt = (reply: Reply) => reportIn(reply).meta.knownAt as string;
const asOf = (reply: Reply) => `${THREE}&_asOf=${knownAt(reply)}`;
const problemIn = (reply: Reply) =>
  JSON.parse(reply.text) as {
    code: string;
    detail: string;
    help: string;
    errors?: { param: string; message: string }[];
  };

describe('a report as of a past moment', () => {
  it('has the rows, and the revision, that the answer had then, though the platform restated since', async () => {
    const { gateway, ask, restate } = await provenScene();
    const first = await ask(THREE);
    gateway.clock.advance(2 * HOUR);
    restate('2026-11-18');
    const second = await ask(`${THREE}&_days=1`);
    gateway.clock.advance(2 * HOUR);
    const third = await ask(THREE);
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
    const { gateway, ask } = await provenScene();
    const first = await ask(THREE);
    gateway.clock.advance(3 * HOUR);
    const later = await ask(THREE);
    gateway.clock.advance(3 * HOUR);
    const now = new Date(gateway.clock.now()).toISOString();
    const { meta } = reportIn(await ask(`${THREE}&_days=1&_asOf=${now}`));
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
    const { gateway, ask } = await provenScene();
    const before = new Date(gateway.clock.now() - 1000).toISOString();
    const first = await ask(THREE);
    const reply = await ask(`${THREE}&_asOf=${before}`);
    expect(reply.status).toBe(404);
    expect(problemIn(reply)).toMatchObject({ code: 'not_known_then' });
    expect(problemIn(reply).detail).toContain('2026-11-17, 2026-11-18, 2026-11-19');
    expect(problemIn(reply).detail).toContain(knownAt(first));
    const never = await ask(`${SERIES}&dateFrom=2026-01-01&dateTo=2026-01-02&_asOf=${before}`);
    expect(problemIn(never).detail).toMatch(/2026-01-01, 2026-01-02\. Some were never recorded\.$/);
    expect(problemIn(never).help).toMatch(
      /^Request them without _asOf: they are recorded from their next fetch on/,
    );
  });

  it('takes a day that is over for its end', async () => {
    const { gateway, ask, restate } = await provenScene();
    const first = await ask(THREE);
    gateway.clock.advance(DAY);
    restate('2026-11-17', '2026-11-19');
    const second = await ask(`${THREE}&_days=1`);
    const then = await ask(`${THREE}&_asOf=2026-11-21`);
    expect(reportIn(then).data).toEqual(reportIn(first).data);
    expect(reportIn(then).meta.knownAt).toBe('2026-11-21T23:59:59.999Z');
    expect(reportIn(second).data).toBeDefined();
  });
});

const QUERY = `${SERIES}&dateFrom=2026-11-19&dateTo=2026-11-20`;

const FORCED = { headers: { 'cache-control': 'no-cache' } };

const detailOf = (reply: Reply) => reply.json<{ detail: string }>().detail;

describe('the first numbers of each day', () => {
  it('are given from history, with how old each day was, and a warning of those that were seen late', async () => {
    const { gateway, ask, restate } = await provenScene();
    const first = await ask(QUERY);
    gateway.clock.advance(DAY);
    restate('2026-11-19', '2026-11-20');
    const later = await ask(QUERY);
    expect(reportIn(later).data).not.toEqual(reportIn(first).data);
    const calls = gateway.simulator.callCount;
    const reply = await ask(`${QUERY}&_vintage=first&_days=1`);
    const { data, meta } = reportIn(reply);
    expect(data).toEqual(reportIn(first).data);
    expect(reply.headers['report-revision']).toBe(first.headers['report-revision']);
    expect(meta.days?.map(({ ageHours }) => ageHours)).toEqual([36, 12]);
    expect(meta.warnings).toEqual([
      { code: 'first_seen_late', message: expect.stringContaining('within 24 hours of its end: 2026-11-19') },
    ]);
    expect(meta).not.toHaveProperty('knownAt');
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('are not known of a day that is not over, nor of one that nobody asked for', async () => {
    const { ask } = await provenScene();
    await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-21`);
    const reply = await ask(`${SERIES}&dateFrom=2026-11-19&dateTo=2026-11-21&_vintage=first`);
    expect(outcomeOf(reply)).toBe('404 not_known_then');
    expect(detailOf(reply)).toMatch(/^No recorded data since the end of 2026-11-19, 2026-11-21\./);
  });
});

describe('the final numbers of each day', () => {
  it('are 409 with the days and when they are expected, then those that were first seen final, and stay', async () => {
    const { gateway, ask, restate } = await provenScene();
    await ask(QUERY);
    const early = await ask(`${QUERY}&_vintage=final`);
    expect(outcomeOf(early)).toBe('409 not_final');
    expect(detailOf(early)).toBe(
      'Not final yet: 2026-11-19 (expected to be final on 2026-11-25), 2026-11-20 (expected to be final on 2026-11-26).',
    );
    gateway.clock.set('2026-11-25T12:00:00Z');
    expect((await ask(`${QUERY}&_vintage=final`)).json()).toMatchObject({
      detail: 'Not final yet: 2026-11-20 (expected to be final on 2026-11-26).',
      help: expect.stringMatching(/^Request 2026-11-19 without _vintage: old enough, but not fetched since/),
    });
    gateway.clock.set('2026-11-26T12:00:00Z');
    const unseen = await ask(`${QUERY}&_vintage=final`);
    expect(detailOf(unseen)).toMatch(
      /^Old enough to be final, but not fetched since: 2026-11-19, 2026-11-20\./,
    );
    restate('2026-11-19', '2026-11-20');
    const final = await ask(QUERY);
    expect(reportIn(final).meta.final).toBe(true);
    gateway.clock.advance(3 * DAY);
    restate('2026-11-19', '2026-11-20');
    const forced = await ask(QUERY, FORCED);
    expect(reportIn(forced).data).not.toEqual(reportIn(final).data);
    const { data, meta } = reportIn(await ask(`${QUERY}&_vintage=final`));
    expect(data).toEqual(reportIn(final).data);
    expect(meta.final).toBe(true);
  });

  it('are those that were known before, where the fetch of the final day brought the same within the hour', async () => {
    const { gateway, ask } = await provenScene();
    gateway.clock.set('2026-11-25T23:50:00Z');
    await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-20`);
    gateway.clock.advance(HOUR / 3);
    const same = await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-20`, FORCED);
    const final = await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-20&_vintage=final`);
    expect(reportIn(final).data).toEqual(reportIn(same).data);
  });
});

it('is another for other rows of the same millisecond', async () => {
  const { gateway, ask, restate } = await provenScene();
  const answers = [reportIn(await ask(QUERY))];
  for (let times = 0; times < 3; times += 1) {
    restate('2026-11-19', '2026-11-20');
    answers.push(reportIn(await ask(QUERY, FORCED)));
  }
  gateway.clock.advance(SECOND);
  expect(new Set(answers.map(({ meta }) => meta.revision)).size).toBe(4);
  for (const { data, meta } of answers)
    expect(reportIn(await ask(`${QUERY}&_asOf=${meta.knownAt}`)).data).toEqual(data);
});

it('is in the order of the fetches where the clocks of replicas are not', async () => {
  const { gateway, ask, restate } = await provenScene();
  const ahead = await gatewayAt(gateway.simulator, {
    sharedStore: gateway.store,
    clock: createTestClock(new Date(NOON + 10 * SECOND).toISOString()),
  });
  await ahead.services.registry.refresh();
  const first = reportIn(await ask(QUERY, {}, ahead));
  restate('2026-11-19', '2026-11-20');
  gateway.clock.advance(SECOND);
  const second = reportIn(await ask(QUERY, FORCED));
  expect(second.data).not.toEqual(first.data);
  const hit = reportIn(await ask(QUERY));
  expect(hit.data).toEqual(second.data);
  gateway.clock.advance(MINUTE);
  for (const { data, meta } of [first, second, hit])
    expect(reportIn(await ask(`${QUERY}&_asOf=${meta.knownAt}`)).data).toEqual(data);
});

it('what is not kept is said to be not kept, whether the kind is proven or not', async () => {
  const { gateway, key } = await withTeam({ config: { history: { enabled: false } } });
  const about = `endpoint=campaigns/get&query=${encodeURIComponent(THREE)}`;
  for (const reply of [
    await gateway.report(key, `${THREE}&_asOf=2026-11-01`),
    await gateway.report(key, `${THREE}&_vintage=first`),
    await gateway.call(`/gateway/v1/diff?${about}&from=first&to=latest`, { key }),
  ])
    expect(reply.json()).toMatchObject({
      code: 'not_known_then',
      detail: 'History is off: history.enabled is false.',
      help: 'Request current data, or ask your operator to set history.enabled.',
    });
});
