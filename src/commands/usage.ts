/** `dsp-gateway usage`: what each team asked for. */
import type { Command } from 'commander';
import type { AdminOptions } from './admin-client.js';
import type { Answers } from './answers.js';
import { act, adminCommand, show } from './define.js';
import { renderTable } from './table.js';
import { readId } from './teams.js';
import type { Terminal } from './terminal.js';

interface UsageOptions extends AdminOptions {
  readonly team?: string;
  readonly from?: string;
  readonly to?: string;
}

const COLUMNS = [
  ['requests', 'requests'],
  ['hits', 'hits'],
  ['stale', 'stale'],
  ['misses', 'misses'],
  ['upstreamCalls', 'calls'],
  ['upstreamCallsSaved', 'saved'],
  ['rows', 'rows'],
  ['bytesOut', 'bytes'],
  ['errors', 'errors'],
  ['rateLimited', 'limited'],
] as const;

export function addUsageCommand(program: Command, terminal: Terminal): void {
  adminCommand(program, {
    name: 'usage',
    description: 'Show what each team asked for, day by day (UTC); calls are those to the platform.',
    examples: ['usage --team growth', 'usage --from 2026-11-01 --to 2026-11-30 --json'],
  })
    .option('--team <team>', 'only this team', readId)
    .option('--from <day>', 'first day, YYYY-MM-DD (default: 29 days ago)')
    .option('--to <day>', 'last day (default: today)')
    .action(
      act<UsageOptions>(terminal, async (admin, options) => {
        const { team, from, to } = options;
        const search = new URLSearchParams({
          ...(team === undefined ? {} : { team }),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        });
        const used = await admin.ask('usage', 'GET', `usage?${search}`);
        // Of a team that was deleted there is usage, and of one that never was there is none.
        if (team !== undefined && used.usage.length === 0) await admin.ask('team', 'GET', `teams/${team}`);
        show(terminal, options, used, describe);
      }),
    );
}

function describe({ from, to, usage }: Answers['usage']): string {
  if (usage.length === 0) return `Nothing was asked for from ${from} to ${to}.\n`;
  const sums = COLUMNS.map(([field]) => usage.reduce((sum, day) => sum + day[field], 0));
  return renderTable(
    ['day', 'team', ...COLUMNS.map(([, head]) => head)],
    [
      ...usage.map((day) => [day.day, day.team, ...COLUMNS.map(([field]) => day[field])]),
      ['all', null, ...sums],
    ],
  );
}
