/** `list_changes`: an assistant follows the feed of changes, page by page and later on. */
import { describe, expect, it } from 'vitest';
import { changesScene } from '../../gateway/changes-scene.js';
import { BY_DATE } from '../../gateway/history-scene.js';
import { type Agent, agentOf, type Told } from './agent.js';

async function scene(config: object = {}) {
  const all = await changesScene('', { config: { mcp: config } });
  const { gateway } = all;
  const agentWith = async (team: object) =>
    agentOf(gateway, await gateway.addTeam({ scopes: ['report:read', 'mcp'], ...team }));
  return { ...all, agentWith, agent: await agentWith({ id: 'agents', advertisers: [1, 2] }) };
}

function rowsOf({ body }: Told): Record<string, unknown>[] {
  const { columns = [], rows = [] } = body;
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])));
}

const told = async (agent: Agent, args: object): Promise<Told> => {
  const result = await agent.call('list_changes', args);
  expect([result.isError, result.body.code]).toEqual([false, undefined]);
  return result;
};

describe('list_changes', () => {
  it('gives what changed since an offset, measures old and new, and the offset to go on from', async () => {
    const { agent, ask, restated, now, follow } = await scene();
    const offset = await now();
    await ask(BY_DATE);
    const first = await told(agent, { offset });
    expect(first.body).toMatchObject({ truncated: false, totalRows: 3, next: null, upToDate: true });
    const { messages } = await follow(offset);
    expect(rowsOf(first)[1]).toMatchObject({
      seenAt: messages[1]?.headers.timestamp,
      date: '2026-11-18',
      what: 'first seen',
      advertiserId: 1,
      endpoint: 'campaigns/get',
      report: 'advertiserId=1&byDate=1',
      series: messages[1]?.value?.series,
      final: false,
      'spent.old': null,
      'spent.new': Number(messages[1]?.value?.totals?.spent),
    });
    await restated(BY_DATE);
    const second = rowsOf(await told(agent, { offset: first.body.nextOffset }));
    expect(second).toMatchObject([
      {
        date: '2026-11-18',
        what: 'corrected by the platform',
        'spent.old': Number(messages[1]?.value?.totals?.spent),
      },
    ]);
    expect(second[0]?.['spent.new']).not.toBe(second[0]?.['spent.old']);
    expect(rowsOf(await told(agent, { offset: 'now' }))).toEqual([]);
  });

  it.each([
    ['rows', { maxRows: 20 }, {}],
    ['bytes', { maxBytes: 8192 }, {}],
    ['rows of its own limit', {}, { limit: 30 }],
  ])(
    'is walked by cursor without gap or repeat where the %s of a result are limited, while days change',
    async (_limited, caps, args) => {
      const { agent, ask, follow, now } = await scene(caps);
      const offset = await now();
      await ask(BY_DATE.replace('2026-11-17', '2026-09-01'));
      const first = await told(agent, { offset, advertiserId: 1, ...args });
      const seen = rowsOf(first);
      expect(first.body).toMatchObject({ truncated: true, upToDate: false });
      await ask(BY_DATE.replace(/2026-11-1[79]/g, '2026-08-31'));
      let { next } = first.body;
      for (let pages = 0; typeof next === 'string' && pages < 10; pages += 1) {
        const page = await told(agent, { cursor: next });
        seen.push(...rowsOf(page));
        ({ next } = page.body);
      }
      const { messages } = await follow(offset, '&advertiserId=1');
      expect(seen.map(({ series, date, seenAt }) => [`${series} ${date}`, seenAt])).toEqual(
        messages.map(({ key, headers }) => [key, headers.timestamp]),
      );
      expect(seen.at(-1)?.date).toBe('2026-08-31');
      expect(seen.length).toBeGreaterThan(50);
    },
  );

  it('takes filters, and shows no advertiser of others', async () => {
    const { agent, agentWith, ask, now } = await scene();
    const offset = await now();
    await ask(BY_DATE);
    await ask(BY_DATE.replace('advertiserId=1', 'advertiserId=3'));
    const count = async (args: object) => rowsOf(await told(agent, { offset, ...args })).length;
    expect(await count({})).toBe(3);
    expect(await count({ split: ['date'] })).toBe(3);
    expect(await count({ split: ['date', 'campaign'] })).toBe(0);
    expect(await count({ endpoint: 'other/get' })).toBe(0);
    const foreign = await agent.call('list_changes', { advertiserId: 3 });
    expect([foreign.isError, foreign.body.code]).toEqual([true, 'advertiser_forbidden']);
    const blind = await agentWith({ id: 'blind', scopes: ['mcp'] });
    expect((await blind.call('list_changes')).body.code).toBe('scope_missing');
  });

  it('tells an assistant what is wrong with an argument, and what to do once an offset is too old', async () => {
    const { agent } = await scene();
    const wrong = await agent.call('list_changes', { series: 'short', offset: 'a b' });
    expect([wrong.isError, wrong.body.code]).toEqual([true, 'invalid_query']);
    expect((wrong.body.errors as { param: string }[]).map(({ param }) => param).sort()).toEqual([
      'offset',
      'series',
    ]);
    const old = await agent.call('list_changes', { offset: 'other_000000000000000-000000000_AAAAAA_99' });
    expect([old.isError, old.body.code]).toEqual([true, 'cursor_too_old']);
    expect(old.body.help).toContain('offset "now"');
  });
});
