/** `GET /gateway/v1/changes`: which days changed, as catch-up. */
import { describe, expect, it } from 'vitest';
import { gatewayAt, outcomeOf, reportIn, withTeam } from '../support/start-gateway.js';
import { CHANGES, changesScene, kindsIn, messagesIn, nextOf, stateAfter } from './changes-scene.js';
import { BY_DATE, HOUR } from './history-scene.js';

interface Revisions {
  readonly data: readonly {
    readonly date: string;
    readonly revisions: readonly {
      readonly id: string;
      readonly totals: Readonly<Record<string, unknown>>;
    }[];
  }[];
}

describe('the feed of changes', () => {
  it('tells each day once it is known, and again when the platform restates it', async () => {
    const { ask, restated, now, follow, about } = await changesScene();
    const offset = await now();
    const report = reportIn(await ask(BY_DATE));
    const first = await follow(offset);
    expect(kindsIn(first.messages)).toEqual(['first 2026-11-17', 'first 2026-11-18', 'first 2026-11-19']);
    const [, day] = first.messages;
    const { impressions, clicks, spent } = report.data[1] as Record<string, number>;
    expect(day).toMatchObject({
      type: 'day',
      value: {
        endpoint: 'campaigns/get',
        advertiserId: 1,
        split: ['date'],
        report: 'advertiserId=1&byDate=1',
        date: '2026-11-18',
        final: false,
        ageDays: 3,
        rowCount: 1,
        totals: { impressions: `${impressions}`, clicks: `${clicks}`, spent: `${spent}` },
      },
      headers: { operation: 'insert', kind: 'first' },
    });
    expect(day?.old_value).toBeUndefined();
    expect(new Set(first.messages.map(({ headers }) => headers.txid)).size).toBe(1);

    const after = reportIn(await restated(BY_DATE));
    const second = await follow(first.next);
    expect(kindsIn(second.messages)).toEqual(['restated 2026-11-18']);
    const [change] = second.messages;
    expect(change).toMatchObject({
      value: { totals: { spent: String(after.data[1]?.spent) } },
      old_value: { revision: day?.value?.revision, totals: { spent: `${spent}` } },
      headers: { operation: 'update' },
    });
    expect((await follow(second.next)).messages).toEqual([]);

    const { data } = (await about('revisions', BY_DATE)).json<Revisions>();
    const newest = data.map(({ date, revisions }) => [date, revisions.at(-1)?.id]);
    const state = stateAfter([...first.messages, ...second.messages]);
    expect([...state].map(([key, id]) => [key.slice(-10), id])).toEqual(newest);
  });

  it('gives the very rows of a change, by its query and by rows=1, without a platform call', async () => {
    const { ask, restated, now, follow, gateway } = await changesScene();
    const offset = await now();
    await ask(BY_DATE);
    const { messages } = await follow(offset, '&rows=1');
    await restated(BY_DATE);
    const calls = gateway.simulator.callCount;
    for (const { value } of messages) {
      const report = reportIn(await ask(String(value?.query)));
      expect(report.data).toEqual(value?.rows);
    }
    const again = await follow(offset, '&rows=1');
    expect(gateway.simulator.callCount).toBe(calls);
    expect(again.messages.map(({ value }) => [value?.date, value?.superseded, value?.rows?.length])).toEqual([
      ['2026-11-17', undefined, 1],
      ['2026-11-18', true, undefined],
      ['2026-11-19', undefined, 1],
      ['2026-11-18', undefined, 1],
    ]);
  });

  it('tells nothing of a report before its kind is proven, and its days with the first fetch after the proof', async () => {
    const { gateway, key } = await withTeam({}, { id: 'history', scopes: ['report:read', 'cache:refresh'] });
    const feed = async () => messagesIn(await gateway.call(CHANGES, { key }));
    await gateway.report(key, BY_DATE);
    expect(await feed()).toEqual([]);
    await gateway.services.settled();
    gateway.clock.advance(2 * HOUR);
    await gateway.report(key, BY_DATE);
    await gateway.services.settled();
    const told = kindsIn(await feed());
    for (const day of [17, 18, 19]) expect(told).toContain(`first 2026-11-${day}`);
    expect(new Set(told).size).toBe(told.length);
  });

  it('is filtered by endpoint, advertiser, split and series', async () => {
    const { ask, now, follow } = await changesScene();
    const offset = await now();
    await ask(BY_DATE);
    await ask(BY_DATE.replace('advertiserId=1', 'advertiserId=2'));
    const all = await follow(offset);
    expect(all.messages).toHaveLength(6);
    const series = String(all.messages[0]?.value?.series);
    expect(series).toHaveLength(22);
    const count = async (filter: string) => (await follow(offset, filter)).messages.length;
    expect(await count('&advertiserId=1')).toBe(3);
    expect(await count('&advertiserId=1&advertiserId=2')).toBe(6);
    expect(await count('&advertiserId=1,2')).toBe(6);
    expect(await count('&advertiserId=3')).toBe(0);
    expect(await count(`&series=${series}`)).toBe(3);
    expect(await count('&split=date')).toBe(6);
    expect(await count('&split=date,campaign')).toBe(0);
    expect(await count('&endpoint=campaigns/get')).toBe(6);
    expect(await count('&endpoint=other/get')).toBe(0);
  });

  it('tells an erasure to all that were told of its days: with any filter, and in a process that never read them', async () => {
    const { ask, gateway, feed, now, key } = await changesScene();
    const limited = await gateway.addTeam({ id: 'limited', advertisers: [1] });
    await ask(BY_DATE);
    const series = String(messagesIn(await feed('offset=-1')).at(-1)?.value?.series);
    const offset = await now();
    await gateway.manage('POST', '/history/erase', { advertiserId: 1 });
    const { store: sharedStore, clock } = gateway;
    const other = await gatewayAt(gateway.simulator, { sharedStore, clock });
    for (const at of [gateway, other])
      for (const [filter, asking] of [
        ['', key],
        ['&advertiserId=1', key],
        ['&endpoint=campaigns/get', key],
        ['&split=date', key],
        [`&series=${series}`, key],
        ['', limited],
        ['&advertiserId=1', limited],
        [`&series=${series}`, limited],
      ] as const) {
        const reply = await at.call(`${CHANGES}?offset=${offset}${filter}`, { key: asking });
        const told = messagesIn(reply).filter(({ headers }) => headers.kind === 'erased');
        expect(told.map(({ headers }) => headers.operation).includes('delete'), filter).toBe(true);
        expect(told.map(({ key: name }) => name.slice(-10))).toEqual(
          expect.arrayContaining(['2026-11-17', '2026-11-18', '2026-11-19']),
        );
      }
    const stranger = await gateway.addTeam({ id: 'stranger', advertisers: [2] });
    expect(messagesIn(await feed(`offset=${offset}`, { key: stranger }))).toEqual([]);
  });

  it('answers a request anew whose messages lost their totals by an erasure', async () => {
    const { ask, gateway, feed } = await changesScene();
    await ask(BY_DATE);
    await ask(BY_DATE.replace('advertiserId=1', 'advertiserId=2'));
    const etag = String((await feed('offset=-1')).headers.etag);
    await gateway.manage('POST', '/history/erase', { advertiserId: 1 });
    const again = await feed('offset=-1', { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(200);
    const first = messagesIn(again).filter(({ value }) => value?.advertiserId === 1);
    expect(first.filter(({ value }) => value?.totals !== undefined)).toEqual([]);
  });

  it('answers the same request with 304 until something changes', async () => {
    const { ask, feed, now, restated } = await changesScene();
    const offset = await now();
    await ask(BY_DATE);
    const first = await feed(`offset=${offset}`);
    const etag = String(first.headers.etag);
    const same = await feed(`offset=${offset}`, { headers: { 'if-none-match': etag } });
    expect([same.status, same.text]).toEqual([304, '']);
    expect(nextOf(same)).toBe(nextOf(first));
    const filtered = { headers: { 'if-none-match': etag } };
    expect((await feed(`offset=${offset}&rows=1`, filtered)).status).toBe(200);
    await restated(BY_DATE);
    expect(messagesIn(await feed(`offset=${offset}`, filtered))).toHaveLength(4);
  });

  it('has the headers of the protocol', async () => {
    const { ask, feed } = await changesScene();
    await ask(BY_DATE);
    const reply = await feed('offset=-1');
    expect(reply.headers).toMatchObject({
      'content-type': expect.stringContaining('application/json'),
      'stream-up-to-date': 'true',
      'changes-since': expect.stringMatching(/^2026-11-2\dT/),
      'cache-control': 'private, max-age=0',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    });
    const head = await feed('offset=-1', { method: 'HEAD' });
    expect([head.status, head.text, head.headers['cache-control']]).toEqual([200, '', 'no-store']);
    expect(nextOf(head)).toBe(nextOf(reply));
    const end = await feed('offset=now');
    expect([end.text, end.headers.etag, end.headers['stream-up-to-date']]).toEqual(['[]', undefined, 'true']);
    expect(nextOf(end)).toBe(nextOf(reply));
    expect((await feed()).text).toBe(reply.text);
  });

  it('says on every answer which reports are being voided just now', async () => {
    const { ask, feed, gateway } = await changesScene();
    await ask(BY_DATE);
    const { etag } = (await feed('offset=-1')).headers;
    await gateway.store.documents.create('changes-voiding', 'campaigns/get date', 60_000);
    await expect
      .poll(async () => (await feed('offset=-1')).headers['changes-voiding'])
      .toBe('campaigns/get date');
    const same = { headers: { 'if-none-match': String(etag) } };
    for (const call of [same, { method: 'HEAD' } as const]) {
      const { headers } = await feed('offset=-1', call);
      expect(headers['changes-voiding']).toBe('campaigns/get date');
    }
  });

  it.each([
    ['offset=', 'offset'],
    ['offset=abc', 'offset'],
    ['offset=-2&live=sse', 'offset'],
    ['offset=now&offset=-1', 'offset'],
    ['offset=a,b', 'offset'],
    ['offset=a%20b', 'offset'],
    ['live=long-poll', 'offset'],
    ['offset=-1&live=often', 'live'],
    ['offset=-1&limit=3', 'limit'],
    ['series=short', 'series'],
    ['split=date%20campaign', 'split'],
    ['endpoint=../x', 'endpoint'],
    ['advertiserId=', 'advertiserId'],
    ['rows=yes', 'rows'],
    ['offset=-1&live=sse&cursor=x', 'cursor'],
  ])('refuses %s', async (query, param) => {
    const { feed } = await changesScene();
    const reply = await feed(query);
    expect(outcomeOf(reply)).toBe('400 invalid_query');
    expect(reply.json<{ errors: { param: string }[] }>().errors[0]?.param).toBe(param);
  });

  it('refuses writes with 405, and callers without key or scope', async () => {
    const { gateway, key, feed } = await changesScene();
    for (const method of ['PUT', 'POST', 'DELETE'] as const)
      expect(outcomeOf(await gateway.call(CHANGES, { method, key, json: {} }))).toBe(
        '405 method_not_allowed',
      );
    expect(outcomeOf(await gateway.call(CHANGES))).toBe('401 missing_api_key');
    await gateway.manage('PATCH', '/teams/history', { scopes: ['platform:read'] });
    expect(outcomeOf(await feed())).toBe('403 scope_missing');
  });

  it('answers 410 to an offset of the right form that is not, or no longer, a place of the feed', async () => {
    const { ask, feed, now, gateway } = await changesScene();
    await ask(BY_DATE);
    const offset = await now();
    const [incarnation = '', position = '', check = ''] = offset.split('_');
    const bad = [
      `other_${position}_${check}_99`,
      `${incarnation}_${position}_AAAAAA_99`,
      `${incarnation}_999999999999999-000000000_${check}_99`,
    ];
    for (const one of bad) {
      const reply = await feed(`offset=${one}`);
      expect(outcomeOf(reply), one).toBe('410 cursor_too_old');
      expect(reply.json<{ help: string }>().help).toContain('offset=now');
      expect(outcomeOf(await feed(`offset=${one}&live=sse`)), one).toBe('410 cursor_too_old');
    }
    expect((await feed(`offset=${offset}`)).status).toBe(200);
    for (let n = 0; n < 60; n += 1)
      await gateway.store.changes.append({ text: `g nobody ${n} +1`, count: 100 });
    await gateway.store.changes.trim(1000);
    expect(outcomeOf(await feed(`offset=${offset}`))).toBe('410 cursor_too_old');
    expect(messagesIn(await feed('offset=-1'))).toEqual([]);
  });
});
