/** `dsp-gateway cache`: inspect and purge the report cache. */
import { explainCache, purgeCache } from '../api/operations/cache.js';
import type { AnswerOf } from '../api/operations/operation.js';
import { getStatus } from '../api/operations/overview.js';
import { bytes, span } from '../lib/words.js';
import { readReportAddress } from '../reports/query/platform-call.js';
import { call, type Given, steps, type Values } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group, show } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';
import { renderRows } from './table.js';

type Explanation = AnswerOf<typeof explainCache>;
type Preview = NonNullable<AnswerOf<typeof purgeCache>['preview']>;

export const REPORT_ARGUMENT = ['<query>', 'report query, or full URL'] as const;
export const ENDPOINT_OPTION = [
  '--endpoint <path>',
  'report endpoint, if not in the URL (default: campaigns/get)',
] as const;

export const addCacheCommands = group(
  'cache',
  'Inspect and purge the report cache.',
  call({
    name: 'explain',
    operation: explainCache,
    description: 'Show the cached days of a report, and the platform calls that a request would make.',
    examples: [
      "cache explain 'advertiserId=1&byDate=1&_period=last_7_days'",
      "cache explain 'https://gateway.example/api/v1/report/campaigns/get?advertiserId=1&byDate=1&_period=yesterday'",
    ],
    args: { query: REPORT_ARGUMENT },
    flags: {
      url: null,
      endpoint: { flag: ENDPOINT_OPTION[0], about: ENDPOINT_OPTION[1] },
      team: {
        flag: '--team <id>',
        about: 'explain for this team, with its default format',
      },
    },
    prepare: ({ values }) => ({
      ...values,
      ...reportIn(String(values.query), values.endpoint as string | undefined),
    }),
    render: describe,
  }),
  steps({
    name: 'purge',
    operation: purgeCache,
    description: 'Delete cached reports, or make them stale; the next request fetches them again.',
    examples: [
      'cache purge --advertiser 1 --from 2026-11-01 --to 2026-11-07 --soft',
      'cache purge --all',
      'cache purge --all --yes',
    ],
    flags: {
      all: { about: 'everything; asks for confirmation on a terminal' },
      advertiserId: {
        flag: '--advertiser <id>',
        about: 'reports of this advertiser, and without advertiser',
      },
      endpoint: { flag: '--endpoint <path>', about: 'reports of this endpoint' },
      from: { flag: '--from <day>', about: 'first day, YYYY-MM-DD' },
      to: { flag: '--to <day>', about: 'last day' },
      soft: { about: 'keep them as stale: served while they are refreshed, and if the platform fails' },
      dryRun: { about: 'show the platform calls that it causes, purge nothing' },
      query: null,
    },
    own: (added) => added.option('--yes', 'skip confirmation'),
    async run({
      values,
      send,
      admin,
      terminal,
      options,
    }: Given<typeof purgeCache, { readonly yes?: boolean }>) {
      checkScope(values);
      const held = values.all ? heldIn(await admin.ask(getStatus)) : '';
      // Scripts need no confirmation: the cache refills by itself.
      const { soft, dryRun } = values;
      if (values.all && !soft && !dryRun && terminal.input.isTTY)
        await confirm(terminal, `${held} will be purged; the next requests go to the platform.`, options.yes);
      const done = soft ? 'stale' : 'purged';
      show(terminal, options, await send(values), ({ purged, preview }) =>
        preview === undefined
          ? `${done}: ${purged}${held && ` (${held})`}\n`
          : `would be ${done}: ${purged}\n${priceOf(preview, soft === true)}`,
      );
    },
  }),
);

function priceOf({ reports, calls }: Preview, soft: boolean): string {
  const known = counted(reports.length, 'known report');
  const when = soft ? 'in the background, when requested' : 'while requests wait';
  return `${known} would be fetched again by at least ${counted(calls, 'platform call')}, ${when}\n`;
}

/** @throws CommandError for no scope, or for --all with another scope */
function checkScope({ all, soft: _, dryRun: __, ...parts }: Values): void {
  const isPart = Object.keys(parts).length > 0;
  if (all && isPart) throw new CommandError('--all excludes other options', EXIT.usage);
  if (!all && !isPart)
    throw new CommandError(
      'nothing to purge: give --advertiser, --endpoint, --from or --to, or --all',
      EXIT.usage,
    );
}

/** What would be purged. Approximate: processes report their sizes periodically. */
function heldIn({ cache }: AnswerOf<typeof getStatus>): string {
  return `about ${counted(cache.l1Entries, 'answer')} in memory, ${bytes(cache.l1Bytes)}, and the cache of the store`;
}

/**
 * Parses a report URL or query.
 * @param named the endpoint of a query
 * @throws CommandError for the URL of something else
 */
export function reportIn(asked: string, named = 'campaigns/get'): { endpoint: string; query: string } {
  const read = readReportAddress(asked);
  if (read === null)
    throw new CommandError(
      `${asked.split('?')[0]} is not a report: only paths below /api/v1/report/ are cached`,
      EXIT.data,
    );
  return { endpoint: read.endpoint ?? named, query: read.query };
}

/** Null: not known. */
const inSpan = (seconds: number | null) => (seconds === null ? null : span(seconds).replace('−', '-'));

function describe(explained: Explanation): string {
  const { canonical, key, policy, days, whole, refusal, calls, behind, storeAway, warnings = [] } = explained;
  const kept = policy.mode === 'days' ? 'day by day' : 'as one period';
  const entries = days ?? (whole === null ? [] : [{ date: 'whole report', ...whole }]);
  const facts: readonly (readonly [name: string, value: string | null])[] = [
    ['key', key],
    ['kept', `${kept}: ${policy.because}`],
    ['learned', describeLearned(explained)],
    ['store', storeAway ? 'unavailable: no lookup' : null],
    ['refused', refusal && `by the platform with ${refusal.status}, cached for ${span(refusal.ttlSeconds)}`],
    ...warnings.map(({ message }) => ['warning', message] as const),
  ];
  return [
    `${canonical.method} ${canonical.target}`,
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(9)} ${value}`])),
    '',
    renderRows(entries, [
      'date',
      ['state', ({ state, purgedAt }) => (purgedAt ? `${state} (purged ${purgedAt})` : state)],
      ['as of', 'asOf'],
      ['age', ({ ageSeconds }) => inSpan(ageSeconds)],
      ['fresh for', ({ ttlSeconds }) => inSpan(ttlSeconds)],
      'rows',
    ]),
    calls.length === 0
      ? 'A request now makes no platform call.'
      : `A request now makes ${counted(calls.length, 'platform call')}:`,
    ...calls.map(showRange),
    ...(behind.length === 0
      ? []
      : ['Stale entries are refreshed in the background:', ...behind.map(showRange)]),
    '',
  ].join('\n');
}

function describeLearned({ policy, inWords }: Explanation): string | null {
  const { restatements } = policy.divisibility ?? { restatements: 0 };
  const changed = `${counted(restatements, 'final day')} changed nevertheless.`;
  return [inWords.divisibility ?? '', ...(restatements > 0 ? [changed] : [])].join(' ').trim() || null;
}

const showRange = ({ from, to }: Explanation['calls'][number]) => `  ${from ?? 'open'} to ${to ?? 'open'}`;
