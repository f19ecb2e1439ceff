/** `dsp-gateway usage`: what each team asked for. */
import type { AnswerOf } from '../api/operations/operation.js';
import { getUsage } from '../api/operations/overview.js';
import { getTeam } from '../api/operations/teams.js';
import { steps } from './call-command.js';
import { show } from './define.js';
import { readId } from './flags.js';
import { type Columns, renderRows } from './table.js';

type UsageDay = AnswerOf<typeof getUsage>['usage'][number];

export const addUsageCommand = steps({
  name: 'usage',
  operation: getUsage,
  description:
    'Show what each team asked for, day by day (UTC); calls are those to the platform, hit rate what the cache answered of all it was asked.',
  examples: ['usage --team growth', 'usage --from 2026-11-01 --to 2026-11-30 --json'],
  flags: {
    from: { about: 'first day, YYYY-MM-DD (default: 29 days ago)' },
    to: { about: 'last day (default: today)' },
    team: { flag: '--team <team>', about: 'only this team', read: readId },
  },
  async run({ values, send, admin, terminal, options }) {
    const used = await send(values);
    const { team } = values;
    // A deleted team may have usage; a team that never was has none, and is refused here.
    if (team !== undefined && used.usage.length === 0) await admin.ask(getTeam, { id: team as string });
    show(terminal, options, used, describe);
  },
});

/** A day of one team, or the sum of all. */
type Line = Omit<UsageDay, 'team'> & { readonly team: string | null };

const COUNTS = {
  requests: 'requests',
  hits: 'hits',
  stale: 'stale',
  misses: 'misses',
  calls: 'upstreamCalls',
  saved: 'upstreamCallsSaved',
  rows: 'rows',
  bytes: 'bytesOut',
  errors: 'errors',
  limited: 'rateLimited',
} as const satisfies Record<string, keyof UsageDay>;

const COLUMNS: Columns<Line> = {
  day: ({ day }) => day,
  team: ({ team }) => team,
  'hit rate': hitRate,
  ...Object.fromEntries(Object.entries(COUNTS).map(([head, count]) => [head, (line: Line) => line[count]])),
};

/** What was answered from the cache, of all that went there; old answers are answers. */
function hitRate({ hits, stale, misses }: Line): string | null {
  const asked = hits + stale + misses;
  return asked === 0 ? null : `${Math.round(((hits + stale) / asked) * 100)} %`.padStart('hit rate'.length);
}

function describe({ from, to, usage }: AnswerOf<typeof getUsage>): string {
  const [first, ...others] = usage;
  if (first === undefined) return `Nothing was asked for from ${from} to ${to}.\n`;
  const sum = (count: (typeof COUNTS)[keyof typeof COUNTS]) =>
    usage.reduce((total, day) => total + day[count], 0);
  const sums = Object.fromEntries(Object.values(COUNTS).map((count) => [count, sum(count)]));
  return renderRows<Line>([first, ...others, { ...first, ...sums, day: 'all', team: null }], COLUMNS);
}
