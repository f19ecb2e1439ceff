/** The changes between two periods as a table: by group, of each advertiser, and in total. */
import { type Column, DataTable } from '../ui/data-table.js';
import { Button, Name, Tag } from '../ui/parts.js';
import { exactly, type ReportColumn, written } from './columns.js';
import type { Change, ComparedGroup } from './compare.js';
import { numbers } from './numbers.js';
import type { Period } from './question.js';
import { saveCsv } from './save-csv.js';
import { comparedCsv } from './table-csv.js';

const MOST_GROUPS = 200;

interface ChangesTableProps {
  /** The totals of each of several advertisers. */
  readonly each: readonly ComparedGroup[];
  readonly groups: readonly ComparedGroup[];
  /** Of all groups, also those that are not shown. */
  readonly feet: readonly ComparedGroup[];
  readonly measures: readonly ReportColumn[];
  readonly currency: string | null;
  /** Of the file. */
  readonly name: string;
  readonly days: Readonly<Record<'now' | 'before', Period>>;
}

export function ChangesTable({ each, groups, feet, measures, currency, name, days }: ChangesTableProps) {
  const columns = measures.map(
    (column): Column<ComparedGroup> => ({
      title: column.title,
      numeric: true,
      cell: ({ changes }) => (
        <ChangeCell change={changes.get(column.name)} column={column} currency={currency} />
      ),
      by: ({ changes }) => changes.get(column.name)?.diff ?? null,
    }),
  );
  // The total says the same of one group of all rows, and more.
  const isOne = feet.length > 0 && groups.every(({ title }) => title === '');
  const hasEach = each.length > 0 && groups !== each;
  const tableOf = (noun: string) => ({
    keyOf: ({ key }: ComparedGroup) => `group ${key}`,
    columns: [{ title: noun, cell: titled, by: ({ title }: ComparedGroup) => title }, ...columns],
  });
  return (
    <>
      {hasEach ? (
        <DataTable {...tableOf('Advertiser')} caption="Changes by advertiser" rows={each} feet={feet} />
      ) : null}
      <DataTable
        {...tableOf('Group')}
        caption="Changes by group"
        rows={isOne ? [] : groups.slice(0, MOST_GROUPS)}
        feet={hasEach ? [] : feet}
      />
      <p class="small quiet">
        A dash means no row, or no sum. Totals are the platform’s own for each period, else the sum of the
        rows, if there is one.{measures.some(({ unit }) => unit === 'share') ? ' pp: percentage points.' : ''}
        {groups.length > MOST_GROUPS
          ? ` The first ${numbers.whole(MOST_GROUPS)} of ${numbers.whole(groups.length)} groups are shown, CSV has all.`
          : ''}
      </p>
      <Button
        label="Download this comparison (CSV)"
        act={() =>
          saveCsv(comparedCsv([...groups, ...(hasEach ? each : []), ...feet], measures, currency, days), name)
        }
      />
    </>
  );
}

const titled = ({ title, in: where }: ComparedGroup) => (
  <>
    <Name>{title || 'all'}</Name>{' '}
    {where === 'both' ? null : <Tag tone="info">{where === 'now' ? 'new' : 'gone'}</Tag>}
  </>
);

interface ChangeCellProps {
  readonly column: ReportColumn;
  /** Of all rows; null: unknown, or they have several. */
  readonly currency: string | null;
  readonly change: Change | undefined;
}

function ChangeCell({ change, column, currency }: ChangeCellProps) {
  const { now = null, before = null, diff = null, percent = null } = change ?? {};
  if (now === null && before === null) return <>–</>;
  const { unit } = column;
  const text = (value: number | null) => written(value, column, currency) || '–';
  const full = (value: number | null) => exactly(value, column, currency) ?? text(value);
  const exact = diff === null ? '' : `, difference: ${numbers.exactDifference(diff, unit, currency)}`;
  return (
    <span title={`${full(now)}, before: ${full(before)}${exact}`}>
      {text(now)}
      <br />
      <span class="small quiet difference">
        {now === null || before === null
          ? `before: ${text(before)}`
          : numbers.signed(now, before, unit, currency)}{' '}
        {percent === null ? null : <span class="nowrap">({numbers.percent(percent)})</span>}
      </span>
    </span>
  );
}
