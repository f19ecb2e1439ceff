/** Tools about a report: each makes the call that HTTP makes, and gives its answer as a table. */
import { GatewayError } from '../errors.js';
import type { ReportReply } from '../http/report-call.js';
import type { Table } from './fit.js';
import { queryOf, reportOf, shapeOf } from './report-of.js';
import { columnsOf, DOES_NOT_ADD_UP, listsOf, notAdditive, type Row, sortRows } from './rows.js';
import type { ToolCall, ToolParts } from './tool-call.js';
import type { CompareArguments, QueryArguments, ReportArguments } from './tools.js';

/** A larger answer is not read at once: others would wait for it. */
const MAX_ANSWER_BYTES = 16_777_216;
/** Days of a warning that are listed. */
const MOST_DAYS = 31;

/** @throws GatewayError as for the report */
export async function queryReport(parts: ToolParts, call: ToolCall, args: QueryArguments): Promise<Table> {
  const asked = reportOf(args, parts.rules, shapeOf(args));
  const reply = await parts.report({
    ...call.ask,
    ...asked,
    method: 'GET',
    target: `/api/v1/report/${asked.endpoint}?${asked.query}`,
    readBody: null,
    accept: undefined,
    acceptEncoding: undefined,
    cacheControl: undefined,
    ifNoneMatch: undefined,
  });
  const { data, meta } = readAnswer(reply);
  const { rowCount: _, reach: _people, warnings, ...known } = meta;
  const columns = args.columns ?? columnsOf(data);
  const rows = sortRows(data, columns, args.sort);
  parts.seenColumns.add(call.caller.team.id, asked.endpoint, columns);
  const marked = notAdditive(data, columns).map((column) => [column, DOES_NOT_ADD_UP]);
  return {
    about: {
      ...known,
      ...(Array.isArray(warnings) ? { warnings: warnings.map(shortened) } : {}),
      ...(marked.length === 0 ? {} : { columnNotes: Object.fromEntries(marked) }),
    },
    columns,
    rows: listsOf(rows, columns),
  };
}

/** @throws GatewayError as for the report */
export async function explainQuery(parts: ToolParts, call: ToolCall, args: ReportArguments): Promise<Table> {
  const asked = reportOf(args, parts.rules);
  const shown = (await parts.showExplanation({ ...call.ask, query: aboutReport(asked) })) as Row;
  const { days, inWords, price, refusal, storeAway, passedOn, warnings } = shown;
  const rows = (days ?? (shown.whole === null ? [] : [shown.whole])) as readonly Row[];
  const columns = columnsOf(rows);
  return {
    about: { report: asked, inWords, price, refusal, storeAway, passedOn, warnings },
    columns,
    rows: listsOf(rows, columns),
  };
}

/** @throws GatewayError as for the report; 404 `not_known_then` */
export async function compareAsOf(parts: ToolParts, call: ToolCall, args: CompareArguments): Promise<Table> {
  const { from = 'first', to = 'latest' } = args;
  const asked = reportOf(args, parts.rules);
  const moments = queryOf([
    { name: 'from', value: from },
    { name: 'to', value: to },
  ]);
  const reply = await parts.showDiff({
    ...call.ask,
    query: `${aboutReport(asked)}&${moments}&_format=json`,
  });
  const { data, meta } = readAnswer(reply);
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
  const columns = columnsOf(cells);
  return { about: { ...about, changedRows: rowCount }, columns, rows: listsOf(cells, columns) };
}

/** @throws GatewayError 400; 403 */
export async function getFinality(parts: ToolParts, call: ToolCall, args: ReportArguments): Promise<Table> {
  const { advertiserId, ...more } = args;
  const isReport = Object.keys(more).some((name) => name !== 'cursor');
  const query =
    isReport || advertiserId === undefined
      ? aboutReport(reportOf(args, parts.rules))
      : queryOf([{ name: 'advertiserId', value: String(advertiserId) }]);
  const shown = (await parts.showFinality({ ...call.ask, query })) as {
    readonly data: readonly Row[];
    readonly meta: Row;
  };
  const rows = shown.data.map(({ ages: _, ...scope }) => scope);
  const columns = columnsOf(rows);
  return { about: shown.meta, columns, rows: listsOf(rows, columns) };
}

function aboutReport({ endpoint, query }: { readonly endpoint: string; readonly query: string }): string {
  return queryOf([
    { name: 'endpoint', value: endpoint },
    { name: 'query', value: query },
  ]);
}

interface JsonAnswer {
  readonly data: readonly Row[];
  readonly meta: Row;
}

/** Numbers are those that JSON holds exactly; others are texts in it already. */
function readAnswer({ status, headers, body }: ReportReply): JsonAnswer {
  const pieces = body ?? [];
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes > MAX_ANSWER_BYTES)
    throw new GatewayError('upstream_too_large', {
      detail: `The answer has ${bytes} bytes; a tool takes at most ${MAX_ANSWER_BYTES}.`,
      help: 'Ask for a shorter period, for fewer columns or splits, or for one campaign.',
    });
  const isJson = status === 200 && headers['content-type']?.startsWith('application/json') === true;
  const answer: unknown = isJson ? tryJson(Buffer.concat(pieces).toString()) : null;
  if (isAnswer(answer)) return answer;
  throw new GatewayError('upstream_invalid_response', {
    detail: 'The platform answers this report without rows, so there is no table of it.',
    help: 'Ask for another report, or for this one by HTTP with _format=raw.',
  });
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isAnswer(value: unknown): value is JsonAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { data, meta } = value as Row;
  return Array.isArray(data) && data.every(isObject) && isObject(meta);
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Many days are told by their number. */
function shortened(warning: Row): Row {
  const { days } = warning;
  if (!Array.isArray(days) || days.length <= MOST_DAYS) return warning;
  return { ...warning, days: [days[0], '…', days.at(-1)], dayCount: days.length };
}
