/** Usage of each team. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable, numberColumn, timeColumn } from '../ui/data-table.js';
import { duration, percent } from '../ui/format.js';
import { Card, Name } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';

type LedgerTeam = LedgerAnswer['teams'][number];

export type LedgerAnswer = AnswerTo<'GET /admin/v1/series/teams'>;

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
  numberColumn('Requests', ({ requests }) => requests),
  numberColumn('From cache', ({ hitRatio }) => hitRatio, percent),
  numberColumn('Calls made', ({ platformCalls }) => platformCalls),
  numberColumn('Saved', ({ platformCallsSaved }) => platformCallsSaved),
  numberColumn('Errors', ({ errors }) => errors),
  numberColumn('Limited', ({ rateLimited }) => rateLimited),
  numberColumn('Median', ({ p50Ms }) => p50Ms, duration),
  numberColumn('p99', ({ p99Ms }) => p99Ms, duration),
  timeColumn('Last seen', ({ lastSeenAt }) => lastSeenAt, '–'),
];

export function Ledger({ answer: { teams } }: { readonly answer: LedgerAnswer }) {
  return (
    <Card title="Teams">
      <DataTable
        caption="Teams and their usage"
        columns={COLUMNS}
        rows={teams}
        keyOf={({ id }) => id}
        sorted={{ index: 1, down: true }}
        empty="No team made a request in this period."
      />
    </Card>
  );
}
