import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { kindsOfTests } from './test/support/kinds.js';

const kinds = kindsOfTests();
/** Run by commands of their own: what is delivered, checked by helm, promtool, npm and the like, and what Chromium shows. */
const isOfDeploy = (name: string) => name.startsWith('deploy/');
const isOfPages = (name: string) => name.startsWith('web/');
const deploy = kinds.real.filter(isOfDeploy);
const pages = kinds.real.filter(isOfPages);
const real = kinds.real.filter((name) => !isOfDeploy(name) && !isOfPages(name));
/** Tests that replace time and randomness of the whole process. */
const alone = ['simulation/simulation.test.ts'];
const quick = kinds.quick.filter((name) => !alone.includes(name));
const below = (names: readonly string[]) => names.map((name) => `test/${name}`);

export default defineConfig({
  test: {
    reporters: ['default', './test/support/slow-files.ts'],
    // Many of them wait for processes and sockets; two more than there are cores keep these busy.
    maxWorkers: availableParallelism() + 2,
    // Long, because a loaded machine is slow; nothing waits for it to pass.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    restoreMocks: true,
    unstubEnvs: true,
    expect: {
      // A test that asserts nothing has not passed.
      requireAssertions: true,
      // Long for the same reason.
      poll: { timeout: 60_000, interval: 10 },
    },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html', 'json-summary'],
      // What quick tests alone reach, rounded down, in the rooms where a wrong branch costs most: a floor, no aim.
      thresholds: {
        'src/reports/{query,rows}/**': { statements: 99, branches: 97, functions: 99 },
        'src/teams/policy/**': { statements: 100, branches: 100, functions: 100 },
        'src/platform/credential/**': { statements: 92, branches: 91, functions: 95 },
        'src/reports/{cache,fetch}/**': { statements: 93, branches: 89, functions: 96 },
      },
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          // One process for many files: starting it and loading the program took longer than most of them. A file leaves
          // the process as it found it (`as-it-was.ts`).
          isolate: false,
          include: below(quick),
          globalSetup: ['test/support/pages.ts'],
          setupFiles: ['test/support/setup.ts', 'test/support/no-processes.ts', 'test/support/as-it-was.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          // Each file has a process of its own: timers that another file left behind would take part in the simulation.
          isolate: true,
          include: below(alone),
          setupFiles: ['test/support/setup.ts', 'test/support/no-processes.ts'],
        },
      },
      ...Object.entries({ real, pages, deploy }).map(([name, names]) => ({
        extends: true as const,
        test: {
          name,
          isolate: false,
          include: below(names),
          setupFiles: ['test/support/setup.ts', 'test/support/as-it-was.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      })),
    ],
  },
});
