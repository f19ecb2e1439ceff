/** `dsp-gateway cache`: look into the report cache, and empty it. */
import { explainCache, purgeCache } from '../api/operations/cache.js';
import type { AnswerOf } from '../api/operations/operation.js';
import { getStatus } from '../api/operations/overview.js';
import { readReportAddress } from '../reports/query/platform-call.js';
import { call, type Given, steps, type Values } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group, show } from './define.js';
import { confirm } from './read-secret.js';
import { bytes, counted, span } from './span.js';
import { renderRows } from './table.js';

type Explanation = AnswerOf<typeof explainCache>;

/** How a command takes a report. */
export const REPORT_ARGUMENT = ['<query>', 'the query of a report, or its whole address'] as const;
export const ENDPOINT_OPTION = [
  '--endpoint <path>',
  'report endpoint, where the address does not say it (default: campaigns/get)',
] as const;

export const addCacheCommands = group(
  'cache',
  'Look into the report cache, and empty it.',
  call({
    name: 'explain',
    operation: explainCache,
    description:
      'Show what the cache holds of a report, day by day, and the calls that answering it would make.',
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
        about: 'as this team would be answered: in its default format where the query names none',
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
    description: 'Delete cached reports; the next request asks the platform.',
    examples: [
      'cache purge --advertiser 1 --from 2026-11-01 --to 2026-11-07',
      'cache purge --all',
      'cache purge --all --yes',
    ],
    flags: {
      all: { about: 'everything; asks first when a person is at the terminal' },
      advertiserId: {
        flag: '--advertiser <id>',
        about: 'reports of this advertiser, and those without one',
      },
      endpoint: { flag: '--endpoint <path>', about: 'reports of this endpoint' },
      from: { flag: '--from <day>', about: 'days from this one, YYYY-MM-DD' },
      to: { flag: '--to <day>', about: 'days up to this one' },
      dryRun: null,
      query: null,
    },
    own: (added) => added.option('--yes', 'do not ask'),
    async run({
      values,
      send,
      admin,
      terminal,
      options,
    }: Given<typeof purgeCache, { readonly yes?: boolean }>) {
      checkScope(values);
      const held = values.all ? heldIn(await admin.ask(getStatus)) : '';
      // A script is not asked: what is forgotten comes back by itself.
      if (values.all && terminal.input.isTTY)
        await confirm(
          terminal,
          `${held} will be forgotten; the next questions go to the platform.`,
          options.yes,
        );
      show(
        terminal,
        options,
        await send(values),
        ({ purged }) => `purged: ${purged}${held && ` (${held})`}\n`,
      );
    },
  }),
);

/** @throws CommandError when nothing is named, or everything and a part of it */
function checkScope({ all, ...parts }: Values): void {
  const isPart = Object.keys(parts).length > 0;
  if (all && isPart) throw new CommandError('--all goes alone', EXIT.usage);
  if (!all && !isPart)
    throw new CommandError(
      'what is to be forgotten? Name it by --advertiser, --endpoint, --from and --to, or say --all',
      EXIT.usage,
    );
}

/** How much there is to forget. Processes tell now and then, so it is not exact. */
function heldIn({ cache }: AnswerOf<typeof getStatus>): string {
  return `about ${counted(cache.l1Entries, 'answer')} in memory, ${bytes(cache.l1Bytes)}, and what the store holds`;
}

/**
 * A report as it was copied from an app or a log, or its query alone.
 * @param named which endpoint was named beside
 * @throws CommandError for the address of something else
 */
export function reportIn(asked: string, named = 'campaigns/get'): { endpoint: string; query: string } {
  const read = readReportAddress(asked);
  if (read === null)
    throw new CommandError(
      `${asked.split('?')[0]} is no report: only what lies below /api/v1/report/ is cached, all else is passed through`,
      EXIT.data,
    );
  return { endpoint: read.endpoint ?? named, query: read.query };
}

function describe(explained: Explanation): string {
  const { canonical, key, policy, days, whole, refusal, calls, behind, storeAway, warnings = [] } = explained;
  const kept = policy.mode === 'days' ? 'day by day' : 'as one entry';
  const entries = days ?? (whole === null ? [] : [{ date: 'whole report', ...whole }]);
  const facts: readonly (readonly [name: string, value: string | null])[] = [
    ['key', key],
    ['kept', `${kept}: ${policy.because}`],
    ['learned', describeLearned(policy.divisibility)],
    ['store', storeAway ? 'away: nothing could be looked up' : null],
    [
      'refused',
      refusal && `by the platform with ${refusal.status}, remembered for ${span(refusal.ttlSeconds)}`,
    ],
    ...warnings.map(({ message }) => ['warning', message] as const),
  ];
  return [
    `${canonical.method} ${canonical.target}`,
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(9)} ${value}`])),
    '',
    renderRows(entries, [
      'date',
      'state',
      ['as of', 'asOf'],
      ['age', ({ ageSeconds }) => span(ageSeconds)],
      ['fresh for', ({ ttlSeconds }) => span(ttlSeconds)],
      'rows',
    ]),
    calls.length === 0
      ? 'Answering it now makes no platform call.'
      : `Answering it now makes ${counted(calls.length, 'platform call')}:`,
    ...calls.map(showRange),
    ...(behind.length === 0
      ? []
      : ['Behind the answer it refreshes what is stale:', ...behind.map(showRange)]),
    '',
  ].join('\n');
}

/** What was seen of it that counts for the step it is at. */
function describeLearned(learned: Explanation['policy']['divisibility']): string | null {
  if (learned === null) return null;
  const { state, agreements, trials = [], restatements } = learned;
  const seen =
    state === 'learning' ? counted(agreements.length, 'agreement') : counted(trials.length, 'trial');
  return `${state}, ${seen}, ${counted(restatements, 'restatement')} of final days`;
}

const showRange = ({ from, to }: Explanation['calls'][number]) => `  ${from ?? 'open'} to ${to ?? 'open'}`;
