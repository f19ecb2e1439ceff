/** `_fields`: some columns of a report. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Reply, reportIn } from '../support/start-gateway.js';
import { provenScene } from './history-scene.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-12';

const pick = (reply: Reply, fields: readonly string[]) =>
  reportIn(reply).data.map((row) => Object.fromEntries(fields.map((field) => [field, row[field]])));
const faultsOf = (reply: Reply) => reply.json<{ errors: { param: string; message: string }[] }>().errors;

describe('some columns of a report', () => {
  it('are those of its rows, with another revision and tag, and cost no call of their own', async () => {
    const { gateway, ask } = await provenScene();
    const whole = await ask(QUERY);
    const calls = gateway.simulator.callCount;
    const reply = await ask(`${QUERY}&_fields=spent,date`);
    expect(reportIn(reply).data).toEqual(pick(whole, ['spent', 'date']));
    expect(reportIn(reply).meta.rowCount).toBe(reportIn(whole).meta.rowCount);
    expect(reply.headers.etag).not.toBe(whole.headers.etag);
    expect(reply.headers['report-revision']).not.toBe(whole.headers['report-revision']);
    const other = await ask(`${QUERY}&_fields=date,spent&_format=csv`);
    expect(other.text.split('\r\n')[0]).toBe('date,spent');
    expect(other.headers['report-revision']).not.toBe(reply.headers['report-revision']);
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('are given from memory, and never from what was kept of whole rows, in every coding', async () => {
    const { ask } = await provenScene();
    const whole = await ask(QUERY);
    const gzip = { headers: { 'accept-encoding': 'gzip' } };
    for (let times = 0; times < 3; times += 1) {
      await ask(QUERY, gzip);
      const some = await ask(`${QUERY}&_fields=date`, gzip);
      const text = some.headers['content-encoding'] === 'gzip' ? gunzipSync(some.body).toString() : some.text;
      expect(JSON.parse(text).data).toEqual(pick(whole, ['date']));
      expect(reportIn(await ask(`${QUERY}&_fields=date`)).data).toEqual(pick(whole, ['date']));
    }
    const hit = await ask(`${QUERY}&_fields=date`);
    expect(hit.headers['cache-status']).toContain('detail=l1');
    const etag = hit.headers.etag as string;
    expect((await ask(`${QUERY}&_fields=date`, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await ask(QUERY, { headers: { 'if-none-match': etag } })).status).toBe(200);
    const head = await ask(`${QUERY}&_fields=date`, { method: 'HEAD' });
    expect([head.status, head.headers.etag, head.text]).toEqual([200, etag, '']);
  });

  it('go with history, with totals, and with reads by POST', async () => {
    const { gateway, key, ask } = await provenScene();
    const whole = await ask(`${QUERY}&_totals=1`);
    const now = new Date(gateway.clock.now()).toISOString();
    for (const more of [`_asOf=${now}`, '_vintage=first', '_vintage=final', '_final=require'])
      expect(reportIn(await ask(`${QUERY}&_fields=date,clicks&${more}`)).data).toEqual(
        pick(whole, ['date', 'clicks']),
      );
    const totals = reportIn(await ask(`${QUERY}&_totals=1&_fields=date,clicks`)).meta.totals;
    expect(totals).toEqual({ clicks: reportIn(whole).meta.totals?.clicks });
    const posted = await gateway.report(key, '_fields=date,clicks', {
      method: 'POST',
      json: { advertiserId: 1, byDate: true, dateFrom: '2026-11-10', dateTo: '2026-11-12' },
    });
    expect(reportIn(posted).data).toEqual(pick(whole, ['date', 'clicks']));
  });

  it('that are there at times only are no fault once they were seen', async () => {
    const { gateway, ask } = await provenScene();
    const columns = (reply: Reply) => [...new Set(reportIn(reply).data.flatMap((row) => Object.keys(row)))];
    const other = QUERY.replace('advertiserId=1', 'advertiserId=2');
    const before = columns(await ask(`${other}&byCampaign=1`));
    const early = await ask(`${other}&byCampaign=1&_fields=date,viewableImpressions`);
    expect(faultsOf(early)[0]?.message).toMatch(/^names viewableImpressions, which is not a column/);
    gateway.simulator.set({ columnFrom: new Date(gateway.clock.now()).toISOString() });
    const after = columns(
      await ask('advertiserId=2&byDate=1&byCampaign=1&dateFrom=2026-11-14&dateTo=2026-11-16'),
    );
    const fresh = 'viewableImpressions';
    expect([before.includes(fresh), after.includes(fresh)]).toEqual([false, true]);
    const reply = await ask(`${other}&byCampaign=1&_fields=date,${fresh}&_format=csv`);
    expect(reply.text.split('\r\n').slice(0, 2)).toEqual([`date,${fresh}`, '2026-11-10,']);
  });
});
