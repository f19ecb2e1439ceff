/**
 * What helpers keep open for a whole test file. Files share a process, and a helper is loaded by the first of them: a
 * hook of its own would hold for that one alone.
 */
const cleanups: (() => unknown)[] = [];

/** Calls `cleanup` whenever a test file is through. */
export function afterEachFile(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** For `setup.ts`, which is loaded anew for each file. */
export async function endFile(): Promise<void> {
  for (const cleanup of cleanups) await cleanup();
}
