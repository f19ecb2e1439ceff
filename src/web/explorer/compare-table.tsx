/** Groups of two periods beside each other, and the total of each below. */
import { type Column, DataTable } from '../ui/data-table.js';
import { count } from '../ui/format.js';
import { Name, Tag } from '../ui/parts.js';
import { type ReportColumn, shown } from './columns.js';
import type { Change, ComparedGroup } from './compare.js';

/** As many as anybody reads. */
const MOST_GROUPS = 200;

interface ChangesTableProps {
  readonly groups: readonly ComparedGroup[];
  /** Of all groups, those that are not shown too. */
  readonly total: ComparedGroup;
  readonly measures: readonly ReportColumn[];
}

export function ChangesTable({ groups, total, measures }: ChangesTableProps) {
  const columns = measures.map(
    ({ name, title }): Column<ComparedGroup> => ({
      title,
      numeric: true,
      cell: ({ changes }) => <ChangeCell change={changes[name]} />,
      by: ({ changes }) => changes[name]?.diff ?? null,
    }),
  );
  return (
    <>
      <DataTable
        caption="Changes by group"
        rows={groups.slice(0, MOST_GROUPS)}
        keyOf={({ key }) => key}
        columns={[{ title: 'Group', cell: titled, by: ({ title }) => title }, ...columns]}
        foot={total}
      />
      <p class="small quiet">
        A dash stands for what has no row, or no sum of its rows. The total is the platform’s own of each
        period; where it says none it is the sum of the rows, and a dash where these have none.
        {groups.length > MOST_GROUPS
          ? ` The first ${count(MOST_GROUPS)} of ${count(groups.length)} groups.`
          : ''}
      </p>
    </>
  );
}

const titled = ({ title, in: where }: ComparedGroup) => (
  <>
    <Name>{title || 'all'}</Name>{' '}
    {where === 'both' ? null : <Tag tone="info">{where === 'now' ? 'new' : 'gone'}</Tag>}
  </>
);

const change = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, signDisplay: 'exceptZero' });
const share = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });

function ChangeCell({ change: known }: { readonly change: Change | undefined }) {
  if (known === undefined) return <>–</>;
  const { now, before, diff, percent } = known;
  if (now === null && before === null) return <>–</>;
  return (
    <span title={`before: ${shown(before, true) || '–'}`}>
      {shown(now, true) || '–'}
      <br />
      <span class="small quiet">
        {diff === null ? `before: ${shown(before, true) || '–'}` : change.format(diff)}
        {percent === null ? '' : ` (${share.format(percent)} %)`}
      </span>
    </span>
  );
}
