/** Those who wait for keys that other replicas have under way. */
export interface Wakers {
  /** These keys were released: whoever waits for one of them looks. */
  wake(keys: readonly string[]): void;
  /** Resolves, with nothing in hand, when one of the keys was released elsewhere, or when it is time to look. */
  woken(keys: readonly string[], pollMs: number): Promise<null>;
}

export function createWakers(): Wakers {
  const wakers = new Map<string, Set<() => void>>();
  return {
    wake(keys) {
      for (const key of keys) for (const wake of wakers.get(key) ?? []) wake();
    },
    woken(keys, pollMs) {
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          for (const key of keys) {
            const set = wakers.get(key);
            set?.delete(wake);
            if (set?.size === 0) wakers.delete(key);
          }
          resolve(null);
        };
        const timer = setTimeout(wake, pollMs);
        for (const key of keys) {
          const set = wakers.get(key) ?? new Set();
          set.add(wake);
          wakers.set(key, set);
        }
      });
    },
  };
}
