const AT_ONCE = 100;

/** All of a list. @param list what follows the last one of the page before, null: from the beginning; at most so many */
export async function* allPages<T>(
  list: (after: T | null, limit: number) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  for (let last: T | null = null; ; ) {
    const page: readonly T[] = await list(last, AT_ONCE);
    yield* page;
    last = page.at(-1) ?? last;
    if (page.length < AT_ONCE) return;
  }
}
