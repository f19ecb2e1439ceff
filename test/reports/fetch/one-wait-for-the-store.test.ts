import { expect, it, onTestFinished } from 'vitest';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, reportIn } from '../../support/start-gateway.js';
import { ALWAYS, byDay, rowsPerDay } from './by-day.js';

/** A store whose cache, leases and messages answer nothing until the test lets a time-out pass. */
function createSilence() {
  const waiting: { readonly call: string; readonly fail: () => void }[] = [];
  const calls: string[] = [];
  let silent = false;
  const through = <T extends object>(name: string, part: T): T =>
    new Proxy(part, {
      get(target, member) {
        const run: unknown = Reflect.get(target, member);
        if (typeof run !== 'function' || member === 'subscribe') return run;
        return (...args: unknown[]) => {
          if (!silent) return run.apply(target, args);
          const call = `${name}.${String(member)}`;
          calls.push(call);
          return new Promise((_, reject) => {
            waiting.push({ call, fail: () => reject(new StoreUnavailable('no answer in time')) });
          });
        };
      },
    });
  const timeOut = () => {
    for (const { fail } of waiting.splice(0)) fail();
  };
  return {
    calls,
    waiting,
    timeOut,
    begin: () => {
      silent = true;
    },
    end() {
      silent = false;
      timeOut();
    },
    wrapStore: (store: Store): Store => ({
      ...store,
      cache: through('cache', store.cache),
      leases: through('leases', store.leases),
      bus: through('bus', store.bus),
    }),
  };
}

it.each([
  [
    'kept as a whole',
    {},
    'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07',
    sends('{"data":[{"impressions":7}]}'),
  ],
  ['kept by day', ALWAYS, byDay('2026-11-01', '2026-11-07'), rowsPerDay(() => 1)],
])(
  'a request for a report %s waits once for a store that is silent, and is answered without it',
  async (_what, config, query, handler) => {
    const platform = await startRawPlatform(handler);
    const silence = createSilence();
    const gateway = await gatewayAt(platform, { config, wrapStore: silence.wrapStore });
    onTestFinished(() => silence.end());
    const key = await gateway.addTeam();
    silence.begin();
    const asked = gateway.report(key, query);
    await expect.poll(() => silence.waiting.length).toBe(1);
    expect(silence.calls).toEqual(['cache.read']);
    // The one time-out that it waits for. Whatever it asks of the store after that stays unanswered.
    silence.timeOut();
    const reply = await asked;
    expect(reportIn(reply).data.length).toBeGreaterThan(0);
    expect(reply.headers['cache-status']).toContain('detail=degraded');
    expect(platform.requests).toHaveLength(1);
    // What a slow store may still do is asked of it all the same.
    await expect.poll(() => silence.calls).toContain('cache.write');
    expect(silence.calls).toContain('leases.claim');
    expect(silence.calls.filter((call) => call === 'cache.read')).toHaveLength(1);
  },
);
