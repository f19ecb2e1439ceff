/** Work on one key is done in the order it comes; work on different keys at the same time. */
export interface Turns {
  take<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Resolves when all work taken so far has ended. */
  ended(): Promise<void>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async take(key, work) {
      const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
      last.set(key, turn);
      try {
        return await turn;
      } finally {
        if (last.get(key) === turn) last.delete(key);
      }
    },
    async ended() {
      await Promise.allSettled(last.values());
    },
  };
}
