/** `/gateway/v1/pins`: an answer that stays. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';
import { aboutReport, BY_DATE, type HistoryScene, historyScene } from './history-scene.js';

const PINS = '/gateway/v1/pins';
const WHOLE = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-17&dateTo=2026-11-19';

interface PinShown {
  readonly id: string;
  readonly revision: string | null;
  readonly query: string;
  readonly bytes: number;
}

const pin = ({ gateway, key }: HistoryScene, query: string, more: object = {}, asking = key) =>
  gateway.call(PINS, { method: 'POST', key: asking, json: { endpoint: 'campaigns/get', query, ...more } });
const made = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(201);
  return reply.json<PinShown>();
};
const get = ({ gateway, key }: HistoryScene, id: string, more = '', asking = key, headers = {}) =>
  gateway.call(`${PINS}/${id}${more}`, { key: asking, headers });

describe('a pin', () => {
  it('has the rows of the report in each format, byte for byte, whatever becomes of report and history', async () => {
    const scene = await historyScene();
    const { ask, restated, gateway } = scene;
    const before = await ask(BY_DATE);
    const [csv, ndjson] = [await ask(`${BY_DATE}&_format=csv`), await ask(`${BY_DATE}&_format=ndjson`)];
    const reply = await pin(scene, BY_DATE, {
      revision: before.headers['report-revision'],
      note: 'invoice 7',
    });
    const { id, revision } = made(reply);
    expect(reply.headers.location).toBe(`${PINS}/${id}`);
    expect(revision).toBe(before.headers['report-revision']);
    const first = await get(scene, id);
    expect(reportIn(first).data).toEqual(reportIn(before).data);
    expect(first.text.slice(0, first.text.indexOf('"meta"'))).toBe(
      before.text.slice(0, before.text.indexOf('"meta"')),
    );

    await restated(BY_DATE);
    await gateway.manage('POST', '/cache/purge', { all: true });
    const { store } = gateway;
    for (const place of await store.days.months(null, 100))
      await store.days.remove(place, (await store.days.whole(place))?.stamp ?? 0);
    gateway.clock.advance(500 * DAY);
    const later = await get(scene, id);
    expect(later.text).toBe(first.text);
    expect((await get(scene, id, '?_format=csv')).text).toBe(csv.text);
    expect((await get(scene, id, '', scene.key, { accept: 'application/x-ndjson' })).text).toBe(ndjson.text);
    expect(later.json()).toMatchObject({
      meta: {
        pin: id,
        note: 'invoice 7',
        createdBy: expect.stringMatching(/./),
        revision,
        period: { from: '2026-11-17' },
      },
    });
    const etag = String(first.headers.etag);
    expect(later.headers.etag).toBe(etag);
    expect((await get(scene, id, '', scene.key, { 'if-none-match': etag })).status).toBe(304);
    expect((await get(scene, id, '?_format=csv', scene.key, { 'if-none-match': etag })).status).toBe(200);
  });

  it('may be of what was known at a past moment, and of a whole answer', async () => {
    const scene = await historyScene();
    const before = await scene.ask(BY_DATE);
    await scene.restated(BY_DATE);
    const asOf = `${BY_DATE}&_asOf=${reportIn(before).meta.knownAt}`;
    const past = made(await pin(scene, asOf));
    expect(past.revision).toBe(before.headers['report-revision']);
    expect(reportIn(await get(scene, past.id)).data).toEqual(reportIn(before).data);
    const report = await scene.ask(WHOLE);
    const whole = made(await pin(scene, WHOLE));
    expect(whole.revision).toBeNull();
    expect(reportIn(await get(scene, whole.id)).data).toEqual(reportIn(report).data);
    expect(outcomeOf(await pin(scene, WHOLE, { revision: 'x' }))).toBe('409 conflict');
  });

  it('of another revision than the one that is meant is refused, with both', async () => {
    const scene = await historyScene();
    const before = (await scene.ask(BY_DATE)).headers['report-revision'];
    const after = (await scene.restated(BY_DATE)).headers['report-revision'];
    const reply = await pin(scene, BY_DATE, { revision: before });
    expect(outcomeOf(reply)).toBe('409 conflict');
    expect(reply.json<Problem>().detail).toContain(before);
    expect(reply.json<Problem>().detail).toContain(after);
  });

  it('is the older side of a diff', async () => {
    const scene = await historyScene();
    await scene.ask(BY_DATE);
    const { id, revision } = made(await pin(scene, BY_DATE));
    const after = await scene.restated(BY_DATE);
    const reply = await scene.about('diff', BY_DATE, `&from=${id}&to=latest`);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json()).toMatchObject({
      data: [{ date: '2026-11-18', kind: 'changed' }],
      meta: { from: id, revisionFrom: revision, revisionTo: after.headers['report-revision'] },
    });
    const first = await scene.about('diff', BY_DATE, '&from=first&to=latest');
    expect(reply.json<{ data: unknown }>().data).toEqual(first.json<{ data: unknown }>().data);

    const diff = async (query: string, more: string, key?: string) => scene.about('diff', query, more, key);
    const other = BY_DATE.replace('2026-11-19', '2026-11-18');
    expect(outcomeOf(await diff(other, `&from=${id}&to=latest`))).toBe('400 invalid_query');
    expect(outcomeOf(await diff(BY_DATE, `&from=${id}&to=2026-11-20`))).toBe('400 invalid_query');
    const whole = made(await pin(scene, WHOLE));
    expect(outcomeOf(await diff(BY_DATE, `&from=${whole.id}&to=latest`))).toBe('400 invalid_query');
    const key = await scene.gateway.addTeam({ id: 'other' });
    expect(outcomeOf(await diff(BY_DATE, `&from=${id}&to=latest`, key))).toBe('404 not_found');
    expect(outcomeOf(await diff(BY_DATE, '&from=pin_0&to=latest'))).toBe('404 not_found');
  });

  it('belongs to its team, and to nobody after it', async () => {
    const scene = await historyScene();
    const { gateway, key } = scene;
    const { id } = made(await pin(scene, BY_DATE));
    const other = await gateway.addTeam({ id: 'other', scopes: ['report:read', 'report:pin'] });
    expect(outcomeOf(await get(scene, id, '', other))).toBe('404 not_found');
    expect(outcomeOf(await gateway.call(`${PINS}/${id}`, { method: 'DELETE', key: other }))).toBe(
      '404 not_found',
    );
    expect((await gateway.call(PINS, { key: other })).json()).toMatchObject({ data: [], meta: { count: 0 } });
    expect((await get(scene, id)).status).toBe(200);
    await gateway.manage('DELETE', '/teams/history');
    const again = await gateway.addTeam({ id: 'history', scopes: ['report:read'] });
    expect(outcomeOf(await get(scene, id, '', again))).toBe('404 not_found');
    expect(outcomeOf(await get(scene, id, '', key))).toMatch(/^401/);
  });

  it('is read no more once its advertiser was taken from the team’s list', async () => {
    const scene = await historyScene();
    const { gateway } = scene;
    const key = await gateway.addTeam({
      id: 'limited',
      advertisers: [1, 2],
      scopes: ['report:read', 'report:pin'],
    });
    const { id } = made(await pin(scene, BY_DATE, {}, key));
    expect(outcomeOf(await pin(scene, BY_DATE.replace('=1', '=3'), {}, key))).toBe(
      '403 advertiser_forbidden',
    );
    expect((await get(scene, id, '', key)).status).toBe(200);
    await gateway.manage('PATCH', '/teams/limited', { advertisers: [2] });
    expect(outcomeOf(await get(scene, id, '', key))).toBe('403 advertiser_forbidden');
    const about = aboutReport(BY_DATE.replace('=1', '=2'));
    const diff = `/gateway/v1/diff?${about}&from=${id}&to=latest`;
    expect(outcomeOf(await gateway.call(diff, { key }))).not.toBe('200');
    expect((await gateway.call(PINS, { key })).json()).toMatchObject({ data: [], meta: { count: 1 } });
    const removed = await gateway.call(`${PINS}/${id}`, { method: 'DELETE', key });
    expect([removed.status, removed.text]).toEqual([204, '']);
  });

  it('is erased with every account that it names or holds', async () => {
    const scene = await historyScene();
    const { gateway } = scene;
    const { id } = made(await pin(scene, BY_DATE));
    const all = made(await pin(scene, 'dateFrom=2026-11-17&dateTo=2026-11-19'));
    const two = made(await pin(scene, BY_DATE.replace('=1', '=2')));
    await gateway.manage('POST', '/history/erase', { advertiserId: 1 });
    expect(outcomeOf(await get(scene, id))).toBe('404 not_found');
    expect(outcomeOf(await get(scene, all.id))).toBe('404 not_found');
    expect((await get(scene, two.id)).status).toBe(200);
    const { meta } = (await gateway.call(PINS, { key: scene.key })).json<{ meta: { count: number } }>();
    expect(meta.count).toBe(1);
    expect((await pin(scene, BY_DATE)).status).toBe(201);
  });

  it('is listed by the page, and forgotten', async () => {
    const scene = await historyScene();
    const { gateway, key } = scene;
    const ids = [];
    for (let at = 0; at < 3; at += 1) ids.push(made(await pin(scene, BY_DATE, { note: String(at) })).id);
    const page = async (more: string) =>
      (await gateway.call(`${PINS}?limit=2${more}`, { key })).json<{
        data: PinShown[];
        meta: { next: string | null };
      }>();
    const first = await page('');
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const second = await page(`&after=${first.meta.next}`);
    expect([second.data.map(({ id }) => id), second.meta.next]).toEqual([ids.slice(2), null]);
    await gateway.call(`${PINS}/${ids[0]}`, { method: 'DELETE', key });
    expect((await page('')).data.map(({ id }) => id)).toEqual(ids.slice(1));
    expect(outcomeOf(await gateway.call(`${PINS}/${ids[0]}`, { method: 'DELETE', key }))).toBe(
      '404 not_found',
    );
  });

  it('needs its scope, a key and a method that is taken', async () => {
    const scene = await historyScene();
    const { gateway, key } = scene;
    const reader = await gateway.addTeam({ id: 'reader', scopes: ['report:read'] });
    expect(outcomeOf(await pin(scene, BY_DATE, {}, reader))).toBe('403 scope_missing');
    expect(outcomeOf(await gateway.call(`${PINS}/pin_0`, { method: 'DELETE', key: reader }))).toBe(
      '403 scope_missing',
    );
    expect(outcomeOf(await gateway.call(PINS, { method: 'POST', body: 'x' }))).toBe('401 missing_api_key');
    expect(outcomeOf(await gateway.call(PINS, { method: 'POST', key, body: 'x' }))).toBe(
      '415 unsupported_media_type',
    );
    const put = await gateway.call(`${PINS}/pin_0`, { method: 'PUT', key });
    expect([put.status, put.headers.allow]).toEqual([405, 'DELETE, GET, HEAD']);
    expect((await gateway.call(PINS, { method: 'DELETE', key })).headers.allow).toBe('GET, HEAD, POST');
    const { id } = made(await pin(scene, BY_DATE));
    expect((await gateway.call(`${PINS}/${id}`, { method: 'HEAD', key })).status).toBe(200);
    expect(outcomeOf(await get(scene, id, '?_format=raw'))).toBe('400 invalid_query');
    expect(outcomeOf(await get(scene, id, '', key, { accept: 'image/png' }))).toBe('406 not_acceptable');
  });
});

it('a pin is as final as the answer that it is a copy of', async () => {
  const scene = await historyScene('', { switches: { restateDays: 0 } });
  await scene.ask(BY_DATE);
  scene.gateway.clock.advance(10 * DAY);
  await scene.ask(BY_DATE);
  const query = `${BY_DATE}&_vintage=final`;
  expect(reportIn(await scene.ask(query)).meta.final).toBe(true);
  expect((await pin(scene, query)).json()).toMatchObject({ final: true });
});
