/**
 * Files of quick tests share a process, and run in any order: each leaves the process as it found it. A file that does
 * not is the one that fails, whichever comes next.
 */
import { afterAll, expect, vi } from 'vitest';

const EVENTS = ['uncaughtException', 'unhandledRejection', 'warning', 'SIGTERM', 'SIGINT'] as const;

function found() {
  return {
    folder: process.cwd(),
    umask: process.umask(),
    environment: { ...process.env },
    fakeTimers: vi.isFakeTimers(),
    random: Math.random,
    listeners: Object.fromEntries(EVENTS.map((event) => [event, process.listenerCount(event)])),
  };
}

const before = found();

afterAll(() => {
  // The runner takes them back before the next test only.
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  expect(found()).toEqual(before);
});
