import type { Command } from 'commander';
import type { Explanation } from '../stages/explain.js';
import { ADMIN_HELP, type AdminOptions, callAdmin, withAdminOptions } from './admin-client.js';
import { renderTable } from './table.js';

export function addCacheCommands(program: Command): void {
  const cache = program.command('cache').description('Look into the report cache, and empty it.');
  withAdminOptions(cache.command('explain'))
    .description(
      'Show what the cache holds of a report, day by day, and the calls that answering it would make.',
    )
    .argument('<query>', 'the query of a report, e.g. "advertiserId=1&byDate=1&_period=last_7_days"')
    .option('--endpoint <path>', 'report endpoint', 'campaigns/get')
    .addHelpText(
      'after',
      `${ADMIN_HELP}\n\nExample:\n  dsp-gateway cache explain 'advertiserId=1&byDate=1&_period=last_7_days'`,
    )
    .action(explain);
  withAdminOptions(cache.command('purge'))
    .description('Forget cached reports; the next question asks the platform.')
    .option('--all', 'everything')
    .option('--advertiser <id>', 'reports of this advertiser, and those without one')
    .option('--endpoint <path>', 'reports of this endpoint')
    .option('--from <day>', 'days from this one, YYYY-MM-DD')
    .option('--to <day>', 'days up to this one')
    .addHelpText(
      'after',
      `${ADMIN_HELP}\n\nExample:\n  dsp-gateway cache purge --advertiser 1 --from 2026-11-01 --to 2026-11-07`,
    )
    .action(purge);
}

async function explain(query: string, options: AdminOptions & { endpoint: string }): Promise<void> {
  const search = new URLSearchParams({ endpoint: options.endpoint, query });
  const answer = await callAdmin<Explanation>(
    options,
    process.env,
    'GET',
    `/admin/v1/cache/explain?${search}`,
  );
  process.stdout.write(options.json ? `${JSON.stringify(answer, null, 2)}\n` : describe(answer));
}

function describe({ canonical, key, policy, days, whole, calls, storeAway }: Explanation): string {
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
          `learned   ${learned.state}, ${learned.agreements.length} agreements, ${learned.restatements} restatements of final days`,
        ]),
    ...(storeAway ? ['store     away: nothing could be looked up'] : []),
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
      : `Answering it now makes ${calls.length} platform call${calls.length === 1 ? '' : 's'}:`,
    ...calls.map(({ from, to }) => `  ${from ?? 'open'} to ${to ?? 'open'}`),
    '',
  ].join('\n');
}

const UNITS: readonly [number, string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** The two greatest units, e.g. `2 h 5 min`. */
function span(seconds: number | null): string | null {
  if (seconds === null) return null;
  if (seconds === 0) return '0 s';
  let rest = Math.abs(seconds);
  const parts = UNITS.flatMap(([size, name]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return `${seconds < 0 ? '-' : ''}${parts.slice(0, 2).join(' ')}`;
}

interface PurgeOptions extends AdminOptions {
  readonly all?: boolean;
  readonly advertiser?: string;
  readonly endpoint?: string;
  readonly from?: string;
  readonly to?: string;
}

async function purge(options: PurgeOptions): Promise<void> {
  const { all, advertiser, endpoint, from, to } = options;
  const body = {
    ...(all ? { all: true } : {}),
    ...(advertiser === undefined ? {} : { advertiserId: Number(advertiser) }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const answer = await callAdmin<{ purged: string }>(
    options,
    process.env,
    'POST',
    '/admin/v1/cache/purge',
    body,
  );
  process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : `purged: ${answer.purged}\n`);
}
