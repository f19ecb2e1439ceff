/** A replica's way to the store: what it asks and is told takes time, and comes late, twice, in another order or never. */
import { type Bus, type Store, StoreUnavailable } from '../../src/store/port.js';
import type { Chance } from './chance-of-seed.js';
import type { Faults } from './faults.js';
import type { Scheduler } from './scheduler.js';

export interface FaultyStoreOptions {
  readonly store: Store;
  readonly replica: string;
  /** The process it is of: one that is started again is another. */
  readonly owner: string;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly faults: Faults;
}

const SERVER = 'store';
/** As long as the adapter for Redis waits: for what is quick, and for what is durable. */
const QUICK_MS = 150;
export const DURABLE_MS = 1_000;
const QUICK: ReadonlySet<string> = new Set(['cache', 'days', 'leases', 'quotas', 'presence']);
/** Answered by the adapter itself. */
const AT_ONCE: ReadonlySet<string> = new Set(['movedOn', 'room']);
const SHARE = 0.5;

/** @returns the store as this replica reaches it */
export function faultyStore(options: FaultyStoreOptions): Store {
  const { store, replica, faults, scheduler } = options;
  const part = <T extends object>(name: string, target: T): T =>
    new Proxy(target, {
      get(_, method) {
        const call: unknown = Reflect.get(target, method);
        if (typeof call !== 'function' || AT_ONCE.has(String(method))) return call;
        return (...args: unknown[]) => {
          const limitMs = QUICK.has(name) ? QUICK_MS : DURABLE_MS;
          if (method !== 'read' || name !== 'cache')
            return ask(options, limitMs, () => call.apply(target, args));
          const [places, before] = args;
          return Promise.resolve(before)
            .catch(() => {})
            .then(() => ask(options, limitMs, () => call.call(target, places)));
        };
      },
    });
  const { bus, kind, close, ...parts } = store;
  const wrapped = Object.fromEntries(
    Object.entries(parts).map(([name, target]) => [name, part(name, target as object)]),
  );
  return {
    ...(wrapped as unknown as Store),
    kind,
    close,
    bus: faultyBus(bus, options),
    health: () =>
      faults.storeFault(replica, scheduler.nowMs) === 'cut-off'
        ? { ok: false, reason: 'cut off' }
        : { ok: true },
  };
}

function ask(
  { replica, owner, scheduler, chance, faults }: FaultyStoreOptions,
  limitMs: number,
  call: () => unknown,
): Promise<unknown> {
  const kind = faults.storeFault(replica, scheduler.nowMs);
  const meets = kind !== null && (kind === 'cut-off' || chance.is(SHARE)) ? kind : null;
  const lateMs = meets === 'late' ? chance.between(50, 3 * limitMs) : 0;
  const isLateThere = chance.is(0.5);
  const delay = () => chance.between(0, 3);
  return new Promise((resolve, reject) => {
    const limit = scheduler.after(limitMs, owner, () => reject(new StoreUnavailable('not in time')));
    if (meets === 'cut-off' || meets === 'lost-request') return;
    scheduler.after(delay() + (isLateThere ? lateMs : 0), SERVER, () => {
      const done = (settle: () => void) => {
        if (meets === 'lost-answer') return;
        scheduler.after(delay() + (isLateThere ? 0 : lateMs), owner, () => {
          scheduler.stopTimer(limit);
          settle();
        });
      };
      Promise.resolve(call()).then(
        (value) => done(() => resolve(value)),
        (error: unknown) => done(() => reject(error)),
      );
    });
  });
}

/** Messages may be lost; so each listener hears each of them late, twice, or never. */
function faultyBus(bus: Bus, options: FaultyStoreOptions): Bus {
  const { replica, owner, scheduler, chance, faults } = options;
  return {
    publish: (channel, message) =>
      ask(options, QUICK_MS, () => bus.publish(channel, message)) as Promise<void>,
    subscribe(channel, listener) {
      let listens = true;
      const hear = (message: string, ms: number) =>
        void scheduler.after(ms, owner, () => {
          if (listens) listener(message);
        });
      const end = bus.subscribe(channel, (message) => {
        const kind = faults.storeFault(replica, scheduler.nowMs);
        if (kind === 'cut-off' || (kind === 'deaf' && chance.is(SHARE))) return;
        hear(message, chance.between(0, 3));
        if (kind === 'babbling') hear(message, chance.between(0, 400));
      });
      return () => {
        listens = false;
        end();
      };
    },
  };
}
