/** The commands that each call of the store sends to Redis. */
import { expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { monthWrite } from '../conformance-days.js';
import { bodiesOf, keep } from '../entries.js';
import { openStore, startServer, withControl } from './open-store.js';

const HOUR_MS = 3_600_000;
const LARGE = Buffer.alloc(300 * 1024, 'x');

it('sends no more commands than each call needs', async () => {
  const { url } = await startServer();
  const { store } = await openStore(url);
  await withControl(url, async (control) => {
    const seen: string[] = [];
    const monitor = await control.monitor();
    monitor.on('monitor', (_: string, [name = '', ...args]: string[], source: string) => {
      if (source !== 'lua') seen.push([name.toLowerCase(), ...args].join(' '));
    });
    async function mark(word: string): Promise<void> {
      await control.echo(word);
      await waitFor(word, () => seen.includes(`echo ${word}`));
    }
    /** @returns names of the commands, without those that Redis gets from time to time */
    async function commandsOf(call: () => Promise<unknown>): Promise<string[]> {
      await mark('begin');
      seen.length = 0;
      await call();
      await mark('end');
      return seen.map((one) => one.split(' ')[0] ?? '').filter((name) => name !== 'info' && name !== 'echo');
    }
    const { cache, days, leases, registry, counters, charges, documents, quotas, presence, bus } = store;
    const take = { want: 1, capacity: 9, refillPerMs: 0, nowMs: 0, ttlMs: HOUR_MS };
    const charge = { id: 'c', purse: 'p', amount: 1, max: 9, note: '', ttlMs: HOUR_MS };
    const { epoch } = await registry.load();
    const calls: Record<string, () => Promise<unknown>> = {
      miss: () => bodiesOf(cache, ['{k}1']),
      write: () =>
        keep(cache, [
          { key: '{k}1', value: Buffer.from('v'), ttlMs: HOUR_MS, version: 1 },
          { key: '{k}2', value: LARGE, ttlMs: HOUR_MS, version: 1 },
        ]),
      hit: () => bodiesOf(cache, ['{k}1']),
      'hit of two': () => bodiesOf(cache, ['{k}1', '{k}2']),
      claim: () => leases.claim(['{k}1', '{k}2'], 'ann', HOUR_MS),
      'claim again, then read': () => {
        const claimed = leases.claim(['{k}1'], 'ann', HOUR_MS);
        return Promise.all([claimed, cache.read(['{k}1'], claimed)]);
      },
      renew: () => leases.renew(['{k}1'], 'ann', HOUR_MS),
      'renew again': () => leases.renew(['{k}1'], 'ann', HOUR_MS),
      release: () => leases.release(['{k}1'], 'ann', { channel: 'news', message: 'done' }),
      take: () => quotas.take('q', take),
      'take again': () => quotas.take('q', take),
      give: () => quotas.give('q', 1, 9),
      'registry changes': () => registry.changes(epoch, 0),
      'registry changes again': () => registry.changes(epoch, 0),
      commit: () => registry.commit({ writes: new Map([['a', '1']]), audit: ['line'] }),
      audit: () => registry.readAudit(1),
      count: () => counters.add('b', [{ group: 'a', field: 'f', by: 1 }], [], HOUR_MS),
      'read counters': () => counters.read(['a']),
      charge: () => charges.charge(charge),
      'note of a charge': () => charges.note('c', 'note'),
      'end of a charge': () => charges.end('c', 'kept'),
      charged: () => charges.charged('p'),
      'open charges': () => charges.open(),
      'create a document': () => documents.create('d', 'one', HOUR_MS),
      'read a document': () => documents.get('d'),
      'replace a document': () => documents.replace('d', 'one', 'two', HOUR_MS),
      beat: () => presence.beat('me', '', HOUR_MS),
      present: () => presence.list(),
      publish: () => bus.publish('news', 'hello'),
      'new months of three series': () =>
        days.write(['a', 'b', 'c'].map((series) => monthWrite(0, 'index', { series }))),
    };
    const sent: Record<string, string> = {};
    for (const [name, call] of Object.entries(calls)) sent[name] = (await commandsOf(call)).join(' ');
    expect(sent).toMatchInlineSnapshot(`
      {
        "audit": "xrevrange",
        "beat": "eval",
        "charge": "eval",
        "charged": "eval",
        "claim": "eval",
        "claim again, then read": "eval mget",
        "commit": "eval",
        "count": "eval",
        "create a document": "eval",
        "end of a charge": "eval",
        "give": "eval",
        "hit": "mget",
        "hit of two": "mget",
        "miss": "mget",
        "new months of three series": "zadd eval evalsha evalsha zadd",
        "note of a charge": "eval",
        "open charges": "hgetall",
        "present": "eval",
        "publish": "publish",
        "read a document": "eval",
        "read counters": "eval",
        "registry changes": "eval",
        "registry changes again": "evalsha",
        "release": "eval",
        "renew": "eval",
        "renew again": "evalsha",
        "replace a document": "eval",
        "take": "eval",
        "take again": "evalsha",
        "write": "multi eval set eval set exec",
      }
    `);
    monitor.disconnect();
  });
  await store.close();
});
