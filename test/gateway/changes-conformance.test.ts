/**
 * Tests of the conformance suite of Durable Streams that read, run against the feed of changes. Each was chosen by its name; those
 * that are not named here cannot apply:
 *
 * | Their tests | Why not |
 * |---|---|
 * | that the written bytes, or JSON values, are read: most of Read Operations, Read-Your-Writes, Chunking, JSON Mode, Byte-Exactness, Immutability | messages are the feed's own |
 * | text, binary data, base64, an empty body | the feed is JSON: an empty answer is `[]` |
 * | PUT, POST, DELETE, sequences, producers, TTL, closing, forks | the feed has the read part alone; 405 for writes |
 * | a stream that does not exist | there is one feed, and it always exists |
 * | unknown query parameters are ignored | they are 400 here, on purpose |
 * | CORS preflight | only for origins in the settings |
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROOT, tempFolder } from '../support/processes.js';
import { startAdapter } from './changes-conformance-adapter.js';
import { liveScene } from './changes-live-scene.js';

const APPLY: Readonly<Record<string, readonly string[]>> = {
  'Browser Security Headers': [
    'should include X-Content-Type-Options: nosniff on GET responses',
    'should include X-Content-Type-Options: nosniff on HEAD responses',
    'should include Cross-Origin-Resource-Policy header on GET responses',
    'should include Cache-Control: no-store on HEAD responses',
    'should include X-Content-Type-Options: nosniff on SSE responses',
    'should include X-Content-Type-Options: nosniff on long-poll responses',
  ],
  'Content-Type Validation': ['should return stream content-type on GET'],
  'HEAD Metadata': ['should return tail offset'],
  'Offset Validation and Resumability': [
    'should return correct tail offset for offset=now',
    'should return empty JSON array for offset=now on JSON streams',
    'should support offset=now with long-poll mode (waits for data)',
    'should support offset=now with SSE mode',
    'should support offset=now with SSE on empty stream',
    'should reject malformed offset (contains comma)',
    'should reject offset with spaces',
  ],
  'Protocol Edge Cases': [
    'should generate unique, monotonically increasing offsets',
    'should reject empty offset parameter',
    'should reject multiple offset parameters',
  ],
  'Long-Poll Edge Cases': [
    'should require offset parameter for long-poll',
    'should generate Stream-Cursor header on long-poll responses',
    'should echo cursor and handle collision with jitter',
    'should return Stream-Cursor, Stream-Up-To-Date and Stream-Next-Offset on 204 timeout',
  ],
  'Caching and ETag': [
    'should generate ETag on GET responses',
    'should return 304 Not Modified for matching If-None-Match',
    'should return new ETag after data changes',
  ],
  'SSE Mode': [
    'should return text/event-stream content-type for SSE requests',
    'should accept live=sse query parameter for application/json',
    'should require offset parameter for SSE mode',
    'should send control events with offset',
    'should generate streamCursor in SSE control events',
    'should handle cursor collision with jitter in SSE mode',
    'should handle SSE for empty stream with correct offset',
    'should send upToDate flag in SSE control events when caught up',
    'should generate unique, monotonically increasing offsets in SSE mode',
    'should NOT include Stream-SSE-Data-Encoding header for application/json streams',
  ],
  'Property-Based Tests (fast-check) Operation Sequence Properties': [
    'offsets are always monotonically increasing',
  ],
  'Property-Based Tests (fast-check) Offset Validation Properties': [
    'should reject offsets with invalid characters',
  ],
  'Property-Based Tests (fast-check) State Hash Verification': ['content hash changes with each append'],
};

const NAMES = Object.entries(APPLY).flatMap(([group, tests]) => tests.map((test) => `${group} ${test}`));

interface Results {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The suite registers its tests with Vitest, so it is run by a process of its own. */
async function runSuite(url: string): Promise<Results> {
  const folder = await tempFolder();
  const [config, output] = [join(folder, 'vitest.config.mjs'), join(folder, 'results.json')];
  const suite = createRequire(import.meta.url).resolve('@durable-streams/server-conformance-tests');
  const include = [relative(ROOT, join(suite, '../test-runner.js'))];
  // Some of its tests give an answer two seconds, which a loaded machine may take.
  const test = { include, exclude: [], testTimeout: 60_000, retry: 5 };
  await writeFile(config, `export default ${JSON.stringify({ root: ROOT, test })};`);
  const names = NAMES.map((name) => name.replace(/[^\w ]/g, '.'));
  const args = [
    'run',
    '--config',
    config,
    '--reporter=json',
    '--outputFile',
    output,
    '-t',
    `^(?:${names.join('|')})$`,
  ];
  const { PATH = '', HOME = '' } = process.env;
  await promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: ROOT,
    env: { PATH, HOME, CONFORMANCE_TEST_URL: url },
    // A failed test is in the results.
  }).catch(() => {});
  return JSON.parse(await readFile(output, 'utf8')) as Results;
}

it(`the feed passes the ${NAMES.length} tests of the conformance suite that apply to it`, async () => {
  const { testResults } = await runSuite(await startAdapter(await liveScene()));
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed' || status === 'failed');
  expect(ran.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(ran.map(({ fullName }) => fullName).sort()).toEqual([...NAMES].sort());
}, 900_000);
