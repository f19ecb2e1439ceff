const CHUNK_SIZE = 256;

/** Cuts a long list into chunks, and gives for each the work to be done on it, to be done when there is time. */
export function chunks<T, R>(items: readonly T[], work: (chunk: readonly T[]) => R): (() => R)[] {
  const count = Math.ceil(items.length / CHUNK_SIZE);
  return Array.from(
    { length: count },
    (_, at) => () => work(items.slice(at * CHUNK_SIZE, (at + 1) * CHUNK_SIZE)),
  );
}
