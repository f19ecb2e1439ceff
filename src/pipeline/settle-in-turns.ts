/** As `Promise.allSettled` of `run` for each, in order, with so many under way at once. */
export async function settleInTurns<T, R>(
  all: readonly T[],
  atOnce: number,
  run: (one: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  const waiting = all.entries();
  async function lane(): Promise<void> {
    for (const [at, one] of waiting) [results[at]] = await Promise.allSettled([run(one)]);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane));
  return results;
}
