/** `dsp-gateway usage`: what each team asked for. */
import type { Command } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import type { AdminOptions } from './admin-client.js';
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

type Field = (typeof COLUMNS)[number][0];
type UsageDay = AnswerTo<'GET /admin/v1/usage'>['usage'][number];

export function addUsageCommand(program: Command, terminal: Terminal): void {
  adminCommand(program, {
    name: 'usage',
    description:
      'Show what each team asked for, day by day (UTC); calls are those to the platform, hit rate what the cache answered of all it was asked.',
    examples: ['usage --team growth', 'usage --from 2026-11-01 --to 2026-11-30 --json'],
  })
    .option('--team <team>', 'only this team', readId)
    .option('--from <day>', 'first day, YYYY-MM-DD (default: 29 days ago)')
    .option('--to <day>', 'last day (default: today)')
    .action(
      act<UsageOptions>(terminal, async (admin, options) => {
        const { team, from, to } = options;
        const used = await admin.ask('GET /admin/v1/usage', { query: { team, from, to } });
        // Of a team that was deleted there is usage, and of one that never was there is none.
        if (team !== undefined && used.usage.length === 0)
          await admin.ask('GET /admin/v1/teams/:id', { id: team });
        show(terminal, options, used, describe);
      }),
    );
}

/** What was answered from the cache, of all that went there; old answers are answers. */
function hitRate({ hits, stale, misses }: Pick<UsageDay, 'hits' | 'stale' | 'misses'>): string | null {
  const asked = hits + stale + misses;
  return asked === 0 ? null : `${Math.round(((hits + stale) / asked) * 100)} %`.padStart('hit rate'.length);
}

function describe({ from, to, usage }: AnswerTo<'GET /admin/v1/usage'>): string {
  if (usage.length === 0) return `Nothing was asked for from ${from} to ${to}.\n`;
  const sum = (field: Field) => usage.reduce((total, day) => total + day[field], 0);
  const all = { hits: sum('hits'), stale: sum('stale'), misses: sum('misses') };
  return renderTable(
    ['day', 'team', 'hit rate', ...COLUMNS.map(([, head]) => head)],
    [
      ...usage.map((day) => [day.day, day.team, hitRate(day), ...COLUMNS.map(([field]) => day[field])]),
      ['all', null, hitRate(all), ...COLUMNS.map(([field]) => sum(field))],
    ],
  );
}
