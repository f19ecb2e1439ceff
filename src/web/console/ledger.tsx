/** What each team asked for, what it cost and what it saved. */

import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { compact, duration, fromNow, percent } from '../ui/format.js';
import { Card, Empty, Name } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';

export type LedgerTeam = LedgerAnswer['teams'][number];

export type LedgerAnswer = AnswerTo<'GET /admin/v1/series/teams'>;

const number = (
  title: string,
  of: (team: LedgerTeam) => number | null,
  shown: (value: number) => string = compact,
): Column<LedgerTeam> => ({
  title,
  numeric: true,
  by: of,
  cell: (team) => {
    const value = of(team);
    return value === null ? '–' : shown(value);
  },
});

const COLUMNS: readonly Column<LedgerTeam>[] = [
  {
    title: 'Team',
    by: ({ id, name }) => name ?? id,
    cell: ({ id, name }) => (
      <a href={hrefOf(['teams', id])}>
        <Name>{name ?? id}</Name>
      </a>
    ),
  },
  number('Requests', ({ requests }) => requests),
  number('From cache', ({ hitRatio }) => hitRatio, percent),
  number('Calls made', ({ platformCalls }) => platformCalls),
  number('Saved', ({ platformCallsSaved }) => platformCallsSaved),
  number('Errors', ({ errors }) => errors),
  number('Limited', ({ rateLimited }) => rateLimited),
  number('Median', ({ p50Ms }) => p50Ms, duration),
  number('p99', ({ p99Ms }) => p99Ms, duration),
  {
    title: 'Last seen',
    by: ({ lastSeenAt }) => lastSeenAt,
    cell: ({ lastSeenAt }) => (lastSeenAt === null ? '–' : fromNow(lastSeenAt, Date.now())),
  },
];

const BY_REQUESTS = { index: 1, down: true };

export function Ledger({ answer: { teams } }: { readonly answer: LedgerAnswer }) {
  return (
    <Card title="Teams">
      {teams.length === 0 ? (
        <Empty>No request of a team was counted in this time.</Empty>
      ) : (
        <DataTable
          caption="Teams and what they asked for"
          columns={COLUMNS}
          rows={teams}
          keyOf={({ id }) => id}
          sorted={BY_REQUESTS}
        />
      )}
    </Card>
  );
}
