/** Tools about a report: each makes the same call as HTTP, and returns its answer as a table. */

import { GatewayError } from '../../errors.js';
import type { ReportReply } from '../../reports/report-call.js';
import { noTable } from '../../reports/tables/answer-table.js';
import type { Page, PageAsk } from '../../reports/tables/pages.js';
import { type Row, type Table, tableOf } from '../../reports/tables/table.js';
import type { NamedReport } from '../data/ask.js';
import { showDiff } from '../data/diff.js';
import { showExplanation } from '../data/explain.js';
import { showFinality } from '../data/learned.js';
import { queryOf, reportOf, shapeOf } from './report-of.js';
import type { ToolCall, ToolParts } from './tool-call.js';
import type { CompareArguments, QueryArguments, ReportArguments } from './tools.js';

/** Larger answers are refused: parsing them would take too much memory. */
const MAX_ANSWER_BYTES = 16_777_216;

export async function queryReport(
  parts: ToolParts,
  call: ToolCall,
  args: QueryArguments,
  page: PageAsk,
): Promise<Page> {
  const asked = reportOf(args, parts.rules, shapeOf(args));
  const reply = await parts.report({
    ...call.ask,
    ...asked,
    method: 'GET',
    target: `/api/v1/report/${asked.endpoint}?${asked.query}`,
    readBody: null,
    accept: undefined,
    acceptEncoding: undefined,
    cacheControl: call.cacheControl,
    ifNoneMatch: undefined,
  });
  const { columns = null, sort = null } = args;
  const read = await parts.table({ chunks: jsonOf(reply), ask: { kind: 'report', columns, sort }, page });
  await parts.seenColumns.add(call.caller, asked.endpoint, read.columns);
  return read;
}

export async function explainQuery(parts: ToolParts, call: ToolCall, args: ReportArguments): Promise<Table> {
  const asked = reportOf(args, parts.rules);
  const shown = (await showExplanation(parts.reports, { ...call.ask, query: aboutReport(asked) })) as Row;
  const { days, inWords, price, refusal, storeAway, passedOn, warnings } = shown;
  const rows = (days ?? (shown.whole === null ? [] : [shown.whole])) as readonly Row[];
  const about = { report: asked, inWords, price, refusal, storeAway, passedOn, warnings };
  return { ...tableOf(about, rows), identity: ['date'] };
}

export async function compareAsOf(
  parts: ToolParts,
  call: ToolCall,
  args: CompareArguments,
  page: PageAsk,
): Promise<Page> {
  const { from = 'first', to = 'latest' } = args;
  const asked = reportOf(args, parts.rules);
  const moments = queryOf([
    { name: 'from', value: from },
    { name: 'to', value: to },
  ]);
  const reply = await showDiff(parts.reports, {
    ...call.ask,
    query: `${aboutReport(asked)}&${moments}&_format=json`,
  });
  return parts.table({ chunks: jsonOf(reply), ask: { kind: 'changes' }, page });
}

export async function getFinality(parts: ToolParts, call: ToolCall, args: ReportArguments): Promise<Table> {
  const { advertiserId, ...more } = args;
  const query =
    Object.keys(more).length > 0 || advertiserId === undefined
      ? aboutReport(reportOf(args, parts.rules))
      : queryOf([{ name: 'advertiserId', value: String(advertiserId) }]);
  const shown = (await showFinality(parts.reports, { ...call.ask, query })) as {
    readonly data: readonly Row[];
    readonly meta: Row;
  };
  const rows = shown.data.map(({ ages: _, ...scope }) => scope);
  return tableOf(shown.meta, rows);
}

function aboutReport({ endpoint, query }: NamedReport): string {
  return queryOf([
    { name: 'endpoint', value: endpoint },
    { name: 'query', value: query },
  ]);
}

/** @returns its JSON in pieces. @throws GatewayError if it has none, or too much */
function jsonOf({ status, headers, body }: ReportReply): readonly Buffer[] {
  const pieces = body ?? [];
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes > MAX_ANSWER_BYTES)
    throw new GatewayError('upstream_too_large', {
      detail: `The answer has ${bytes} bytes; the limit of a tool is ${MAX_ANSWER_BYTES}.`,
      help: 'Request a shorter period, fewer columns or splits, or one campaign.',
    });
  if (status === 200 && headers['content-type']?.startsWith('application/json') === true) return pieces;
  throw noTable();
}
