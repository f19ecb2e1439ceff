/**
 * What RFC 9111 asks of a shared cache, of an endpoint set to `freshness: origin`. The cases are this repository's own;
 * each has the id under which the public suite of HTTP cache tests knows the behaviour. The suite itself is played here
 * where `HTTP_CACHE_TESTS` names its index: `npm run test:caching` fetches it and does so.
 */
import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEPARTURES } from './departures.js';
import { type CacheCase, type CacheStage, type HeaderLine, openCacheStage, type Step } from './play.js';

let stage: CacheStage;
beforeAll(async () => {
  stage = await openCacheStage();
});
afterAll(() => stage.close());

const first = (response_headers: readonly HeaderLine[], more: Step = {}): Step => ({
  response_headers,
  setup: true,
  pause_after: true,
  ...more,
});
const second = (expected_type: NonNullable<Step['expected_type']>, more: Step = {}): Step => ({
  expected_type,
  ...more,
});
const cc = (...values: readonly string[]): HeaderLine[] => values.map((value) => ['Cache-Control', value]);
const HOUR = 3600;

/** Answers that are used again three seconds later. */
const KEPT: Record<string, readonly HeaderLine[]> = {
  'freshness-max-age': cc('max-age=60'),
  'freshness-max-age-max-plus-1': cc('max-age=2147483649'),
  'freshness-max-age-max-plus': cc('max-age=99999999999'),
  'freshness-max-age-expires': [...cc('max-age=60'), ['Expires', -HOUR], ['Date', 0]],
  'freshness-s-maxage-shared': cc('s-maxage=60, max-age=0'),
  'freshness-max-age-case-insenstive': cc('MaX-aGe=60'),
  'freshness-max-age-quoted': cc('max-age="60"'),
  'freshness-max-age-extension': cc('unheard-of="x", max-age=60'),
  'freshness-max-age-leading-zero': cc('max-age=0060'),
  'freshness-max-age-two-fresh-stale-sepline': cc('max-age=60', 'max-age=0'),
  'freshness-expires-future': [
    ['Expires', HOUR],
    ['Date', 0],
  ],
  'freshness-expires-rfc850': [
    ['Expires', 'Thursday, 18-Aug-50 02:01:18 GMT'],
    ['Date', 0],
  ],
  'cc-resp-must-revalidate-fresh': cc('max-age=60, must-revalidate'),
  'cc-resp-immutable-fresh': cc('max-age=60, immutable'),
  'other-set-cookie': [...cc('max-age=60'), ['Set-Cookie', 'a=1']],
  'age-parse-nonnumeric': [...cc('max-age=60'), ['Age', 'old']],
  'vary-match': [...cc('max-age=60'), ['Vary', 'accept']],
};

/** Answers that are not. */
const NOT_KEPT: Record<string, readonly HeaderLine[]> = {
  'freshness-none': [],
  'freshness-max-age-0': cc('max-age=0'),
  'freshness-max-age-age': [...cc('max-age=60'), ['Age', '120']],
  'freshness-max-age-date': [
    ['Date', -HOUR],
    ['Cache-Control', 'max-age=60'],
  ],
  'freshness-max-age-0-expires': [...cc('max-age=0'), ['Expires', HOUR], ['Date', 0]],
  'freshness-max-age-s-maxage-shared-shorter': cc('max-age=60, s-maxage=1'),
  'freshness-max-age-negative': cc('max-age=-60'),
  'freshness-max-age-decimal-five': cc('max-age=60.5'),
  'freshness-max-age-single-quoted': cc("max-age='60'"),
  'freshness-max-age-ignore-quoted': cc('extension="max-age=60"'),
  'freshness-expires-past': [
    ['Expires', -HOUR],
    ['Date', 0],
  ],
  'freshness-expires-present': [
    ['Expires', 0],
    ['Date', 0],
  ],
  'freshness-expires-old-date': [
    ['Expires', 10],
    ['Date', -HOUR],
    ['Age', '7200'],
  ],
  'freshness-expires-invalid': [
    ['Expires', '0'],
    ['Date', 0],
  ],
  'age-parse-suffix': [...cc('max-age=60'), ['Age', '120, 0']],
  'cc-resp-no-store': cc('no-store'),
  'cc-resp-no-store-fresh': cc('max-age=60, no-store'),
  'cc-resp-no-store-case-insensitive': cc('No-StOrE, max-age=60'),
  'cc-resp-no-cache': cc('no-cache, max-age=60'),
  'cc-resp-private-shared': cc('private, max-age=60'),
  'vary-star': [...cc('max-age=60'), ['Vary', '*']],
  'vary-syntax-foo-star': [...cc('max-age=60'), ['Vary', 'accept, *']],
  'heuristic-200-cached': [
    ['Last-Modified', -HOUR],
    ['Date', 0],
  ],
};

const FRESH = first(cc('max-age=60'));
const CASES: readonly CacheCase[] = [
  ...Object.entries(KEPT).map(([id, lines]) => caseOf(id, [first(lines), second('cached')])),
  ...Object.entries(NOT_KEPT).map(([id, lines]) => caseOf(id, [first(lines), second('not_cached')])),
  ...[400, 404].flatMap((status) => {
    const refused: Step = { response_status: [status], response_headers: cc('max-age=60') };
    const stale: Step = { response_status: [status], response_headers: cc('max-age=2') };
    return [
      caseOf(`status-${status}-fresh`, [first([], refused), second('cached', { response_status: [status] })]),
      caseOf(`status-${status}-stale`, [
        first([], stale),
        second('not_cached', { response_status: [status] }),
      ]),
    ];
  }),
  ...(['must-revalidate', 'proxy-revalidate', 's-maxage=2', 'stale-if-error=60'] as const).map((directive) =>
    caseOf(`stale-close-${directive}`, [
      first(cc(`max-age=2, ${directive}`)),
      second('not_cached', { disconnect: true, expected_status: 502 }),
    ]),
  ),
  caseOf('ccreq-ma0', [FRESH, second('not_cached', { request_headers: cc('max-age=0') })]),
  caseOf('ccreq-ma1', [FRESH, second('not_cached', { request_headers: cc('max-age=1') })]),
  caseOf('ccreq-no-cache', [FRESH, second('not_cached', { request_headers: cc('no-cache') })]),
  caseOf('ccreq-oic', [
    { request_headers: cc('only-if-cached'), expected_type: 'cached', expected_status: 504 },
  ]),
  caseOf('query-args-different', [
    first(cc('max-age=60'), { query_arg: 'one' }),
    second('not_cached', { query_arg: 'another' }),
  ]),
  caseOf('other-cookie', [
    first(cc('max-age=60'), { request_headers: [['Cookie', 'a=1']] }),
    second('cached', { request_headers: [['Cookie', 'a=2']] }),
  ]),
  caseOf('other-age-gen', [FRESH, second('cached', { expected_response_headers: [['Age', '>', 2]] })]),
  caseOf('partial-store-complete-reuse-partial', [
    FRESH,
    second('cached', { request_headers: [['Range', 'bytes=0-1']], expected_status: 200 }),
  ]),
];

describe('an endpoint that is as fresh as the platform says', () => {
  it.each(CASES.map((one) => [one.id, one] as const))('%s', async (_, one) => {
    expect(await stage.play(one)).toEqual({ result: 'passed', why: '' });
  });
});

interface Played {
  readonly group: string;
  readonly id: string;
  readonly kind: string;
  readonly result: string;
  /** Index of the departure that explains it; -1 where none has to. */
  readonly departure: number;
}

describe('the public suite', () => {
  it('is passed, but for what is explained', async () => {
    const { HTTP_CACHE_TESTS: index, HTTP_CACHE_RESULTS: results } = process.env;
    const played: Played[] = [];
    const unexplained: string[] = [];
    for (const { id: group, tests } of index === undefined ? [] : await groupsOf(index)) {
      for (const one of tests) {
        const { result, why } = await stage.play(one);
        const departure = result === 'passed' ? -1 : DEPARTURES.findIndex(({ cases }) => cases.test(one.id));
        if (result !== 'passed' && departure === -1) unexplained.push(`${one.id}: ${why}`);
        played.push({ group, id: one.id, kind: one.kind ?? 'required', result, departure });
      }
    }
    if (results !== undefined) {
      const departures = DEPARTURES.map(({ why }) => why);
      await writeFile(results, JSON.stringify({ played, departures, unexplained }));
    }
    expect(unexplained).toEqual([]);
  });
});

async function groupsOf(index: string): Promise<readonly { id: string; tests: readonly CacheCase[] }[]> {
  const loaded = (await import(/* @vite-ignore */ pathToFileURL(index).href)) as {
    default: readonly { id: string; tests: readonly CacheCase[] }[];
  };
  return loaded.default;
}

function caseOf(id: string, requests: readonly Step[]): CacheCase {
  return { id, name: id, requests };
}
