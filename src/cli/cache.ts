/** `dsp-gateway cache`: look into the report cache, and empty it. */
import type { Command } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import { readReportAddress } from '../reports/query/platform-call.js';
import type { AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { confirm } from './read-secret.js';
import { bytes, counted, span } from './span.js';
import { renderTable } from './table.js';
import { readNumber } from './teams.js';
import type { Terminal } from './terminal.js';

export function addCacheCommands(program: Command, terminal: Terminal): void {
  const cache = program.command('cache').description('Look into the report cache, and empty it.');
  adminCommand(cache, {
    name: 'explain',
    description:
      'Show what the cache holds of a report, day by day, and the calls that answering it would make.',
    examples: [
      "cache explain 'advertiserId=1&byDate=1&_period=last_7_days'",
      "cache explain 'https://gateway.example/api/v1/report/campaigns/get?advertiserId=1&byDate=1&_period=yesterday'",
    ],
  })
    .argument('<query>', 'the query of a report, or its whole address')
    .option(
      '--endpoint <path>',
      'report endpoint, where the address does not say it (default: campaigns/get)',
    )
    .option('--team <id>', 'as this team would be answered: in its default format where the query names none')
    .action(
      act<AdminOptions & { endpoint?: string; team?: string }>(
        terminal,
        async (admin, options, asked = '') => {
          const { endpoint, team } = options;
          const query = { ...reportIn(asked, endpoint), team };
          const answer = await admin.ask('GET /admin/v1/cache/explain', { query });
          show(terminal, options, answer, describe);
        },
      ),
    );
  adminCommand(cache, {
    name: 'purge',
    description: 'Forget cached reports; the next question asks the platform.',
    examples: [
      'cache purge --advertiser 1 --from 2026-11-01 --to 2026-11-07',
      'cache purge --all',
      'cache purge --all --yes',
    ],
  })
    .option('--all', 'everything; asks first when a person is at the terminal')
    .option('--yes', 'do not ask')
    .option('--advertiser <id>', 'reports of this advertiser, and those without one', readNumber)
    .option('--endpoint <path>', 'reports of this endpoint')
    .option('--from <day>', 'days from this one, YYYY-MM-DD')
    .option('--to <day>', 'days up to this one')
    .action(
      act<PurgeOptions>(terminal, async (admin, options) => {
        const scope = scopeOf(options);
        const held = options.all ? heldIn(await admin.ask('GET /admin/v1/status')) : '';
        // A script is not asked: what is forgotten comes back by itself.
        if (options.all && terminal.input.isTTY)
          await confirm(
            terminal,
            `${held} will be forgotten; the next questions go to the platform.`,
            options.yes,
          );
        const answer = await admin.ask('POST /admin/v1/cache/purge', { body: scope });
        show(terminal, options, answer, ({ purged }) => `purged: ${purged}${held && ` (${held})`}\n`);
      }),
    );
}

/** How much there is to forget. Processes tell now and then, so it is not exact. */
function heldIn({ cache }: AnswerTo<'GET /admin/v1/status'>): string {
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

function describe(explained: AnswerTo<'GET /admin/v1/cache/explain'>): string {
  const { canonical, key, policy, days, whole, refusal, calls, behind, storeAway, warnings = [] } = explained;
  const learned = policy.divisibility;
  const kept = policy.mode === 'days' ? 'day by day' : 'as one entry';
  const rows = days ?? (whole === null ? [] : [{ date: 'whole report', ...whole }]);
  return [
    `${canonical.method} ${canonical.target}`,
    `key       ${key}`,
    `kept      ${kept}: ${policy.because}`,
    ...(learned === null
      ? []
      : [
          `learned   ${describeLearned(learned)}, ${counted(learned.restatements, 'restatement')} of final days`,
        ]),
    ...(storeAway ? ['store     away: nothing could be looked up'] : []),
    ...(refusal === null
      ? []
      : [`refused   by the platform with ${refusal.status}, remembered for ${span(refusal.ttlSeconds)}`]),
    ...warnings.map(({ message }) => `warning   ${message}`),
    '',
    renderTable(
      ['date', 'state', 'as of', 'age', 'fresh for', 'rows'],
      rows.map(({ date, state, asOf, ageSeconds, ttlSeconds, rows: count }) => [
        date,
        state,
        asOf,
        span(ageSeconds),
        span(ttlSeconds),
        count,
      ]),
    ),
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
function describeLearned({
  state,
  agreements,
  trials = [],
}: NonNullable<AnswerTo<'GET /admin/v1/cache/explain'>['policy']['divisibility']>): string {
  return state === 'learning'
    ? `learning, ${counted(agreements.length, 'agreement')}`
    : `${state}, ${counted(trials.length, 'trial')}`;
}

const showRange = ({ from, to }: AnswerTo<'GET /admin/v1/cache/explain'>['calls'][number]) =>
  `  ${from ?? 'open'} to ${to ?? 'open'}`;

interface PurgeOptions extends AdminOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly advertiser?: number;
  readonly endpoint?: string;
  readonly from?: string;
  readonly to?: string;
}

/** @throws CommandError when nothing is named, or everything and a part of it */
function scopeOf({ all, advertiser, endpoint, from, to }: PurgeOptions): object {
  const isPart = [advertiser, endpoint, from, to].some((one) => one !== undefined);
  if (all && isPart) throw new CommandError('--all goes alone', EXIT.usage);
  if (!all && !isPart)
    throw new CommandError(
      'what is to be forgotten? Name it by --advertiser, --endpoint, --from and --to, or say --all',
      EXIT.usage,
    );
  return {
    ...(all ? { all: true } : {}),
    ...(advertiser === undefined ? {} : { advertiserId: advertiser }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}
