/** Converts a JSON answer of the gateway to a table for assistants. Pure. */
import { GatewayError } from '../../errors.js';
import { isObject, parseObject } from '../../lib/json.js';
import {
  checkSize,
  columnsOf,
  DOES_NOT_ADD_UP,
  notAdditive,
  type Row,
  type Sort,
  sortRows,
  type Table,
  tableOf,
} from './table.js';

export type TableRequest =
  | {
      readonly kind: 'report';
      /** In order; null: all. */
      readonly columns: readonly string[] | null;
      readonly sort: Sort | null;
    }
  /** Changed days: a row for each changed cell. */
  | { readonly kind: 'changes' };

/** Days listed in a warning. */
const MAX_DAYS = 31;

/** @throws GatewayError `upstream_invalid_response`; `upstream_too_large`; `invalid_query` */
export function answerTable(text: string, ask: TableRequest): Table {
  const answer = readAnswer(text);
  return ask.kind === 'report' ? reportTable(answer, ask) : changesTable(answer);
}

function reportTable(
  { data, meta }: JsonAnswer,
  ask: Extract<TableRequest, { readonly kind: 'report' }>,
): Table {
  const { rowCount: _, reach: _people, warnings, ...known } = meta;
  const columns = ask.columns ?? columnsOf(data);
  checkSize(data, columns);
  const { rows, isMixed } = sortRows(data, columns, ask.sort);
  const told = [
    ...(Array.isArray(warnings) ? warnings.map(shortened) : []),
    ...(isMixed ? [mixedColumn((ask.sort as Sort).column)] : []),
  ];
  const marked = notAdditive(data, columns).map((column) => [column, DOES_NOT_ADD_UP]);
  const about = {
    ...known,
    ...(told.length > 0 || Array.isArray(warnings) ? { warnings: told } : {}),
    ...(marked.length === 0 ? {} : { columnNotes: Object.fromEntries(marked) }),
  };
  return tableOf(about, rows, columns);
}

function mixedColumn(column: string): Row {
  return {
    code: 'mixed_column',
    message: `${column} contains numbers and text. Numeric rows are sorted by value. Rows with text follow them in either sort order, so their position may be wrong.`,
  };
}

function changesTable({ data, meta }: JsonAnswer): Table {
  const { rowCount, ...about } = meta;
  const cells = data.flatMap(({ changed, kind, ...dimensions }) =>
    Object.entries(changed as Readonly<Record<string, Row>>).map(
      ([column, cell]): Row => ({
        ...dimensions,
        kind,
        column,
        old: cell.old,
        new: cell.new,
        diff: cell.diff ?? null,
        percent: cell.percent ?? null,
      }),
    ),
  );
  return tableOf({ ...about, changedRows: rowCount }, cells);
}

interface JsonAnswer {
  readonly data: readonly Row[];
  readonly meta: Row;
}

/** Numbers that a double cannot represent are texts already. */
function readAnswer(text: string): JsonAnswer {
  const { data, meta } = parseObject(text) ?? {};
  if (Array.isArray(data) && data.every(isObject) && isObject(meta)) return { data, meta };
  throw noTable();
}

export function noTable(): GatewayError {
  return new GatewayError('upstream_invalid_response', {
    detail: 'The platform returns this report without rows, so it cannot be shown as a table.',
    help: 'Request another report. This one is available over HTTP only.',
  });
}

/** Replaces many days by their count. */
function shortened(warning: Row): Row {
  const { days } = warning;
  if (!Array.isArray(days) || days.length <= MAX_DAYS) return warning;
  return { ...warning, days: [days[0], '…', days.at(-1)], dayCount: days.length };
}
