/** A store of which a test lets documents, quotas, counters and the registry's changes fail. */
import { type Store, StoreUnavailable } from '../../src/store/port.js';

export function storeThatGoesAway() {
  const state = { isAway: false };
  const guarded = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) =>
          state.isAway ? Promise.reject(new StoreUnavailable('away')) : Reflect.apply(member, target, args);
      },
    });
  const wrapStore = (store: Store): Store => {
    const { commit } = guarded(store.registry);
    return Object.assign(Object.create(store) as Store, {
      documents: guarded(store.documents),
      quotas: guarded(store.quotas),
      counters: guarded(store.counters),
      registry: Object.assign(Object.create(store.registry) as Store['registry'], { commit }),
      health: () => (state.isAway ? { ok: false, reason: 'away' } : store.health()),
    });
  };
  return { state, wrapStore };
}
