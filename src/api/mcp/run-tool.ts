/**
 * One page of a tool's result: the first by its arguments, another by its cursor. Another page is read anew, and shown only if
 * the result still has the same rows. So a walk by cursors has no gap and no repeat.
 */
import { GatewayError } from '../../errors.js';
import { type Caps, type Page, type PageAsk, pageOf, writePage } from '../../reports/tables/pages.js';
import type { Table } from '../../reports/tables/table.js';
import { listChanges } from './changes-tool.js';
import type { Cursor, createCursors } from './cursors.js';
import { describeReports, getUsage, whoami } from './own-tools.js';
import { compareAsOf, explainQuery, getFinality, queryReport } from './report-tools.js';
import type { ToolCall, ToolParts } from './tool-call.js';
import type { ChangesArguments, CompareArguments, QueryArguments, ToolName } from './tools.js';

export interface PagedTools extends ToolParts {
  readonly cursors: ReturnType<typeof createCursors>;
  readonly caps: Caps;
  readonly now: () => number;
}

type Tool = (parts: ToolParts, call: ToolCall, args: never, page: PageAsk) => Promise<Page>;

const RUN: Readonly<Record<Exclude<ToolName, 'list_changes'>, Tool>> = {
  whoami: paged(whoami),
  describe_reports: paged(describeReports),
  query_report: queryReport,
  explain_query: paged(explainQuery),
  compare_as_of: compareAsOf,
  get_finality: paged(getFinality),
  get_usage: paged(getUsage),
};

function paged<A>(tool: (parts: ToolParts, call: ToolCall, args: A) => Promise<Table>) {
  return async (parts: ToolParts, call: ToolCall, args: A, page: PageAsk): Promise<Page> =>
    pageOf(await tool(parts, call, args), page);
}

/** @returns the page as JSON. @throws GatewayError */
export async function firstPage(
  tools: PagedTools,
  call: ToolCall,
  name: ToolName,
  args: object,
): Promise<string> {
  if (name === 'list_changes') return changesPage(tools, call, args);
  const startedMs = Math.floor(tools.now());
  // Totals are in the first page: they have no history.
  const { totals: _, ...kept } = args as QueryArguments;
  const page = await read(tools, call, name, args, askOf(tools, kept, 0));
  const knownMs = page.knownAt === null ? null : Date.parse(page.knownAt);
  const atMs = name === 'compare_as_of' ? startedMs : knownMs;
  return write(tools, call, name, page, { args: kept, fromRow: 0, state: page.state, atMs });
}

/** @returns the page as JSON. @throws GatewayError; `cursor_expired` unless it is of the same rows as the first one */
export async function pageAt(
  tools: PagedTools,
  call: ToolCall,
  name: ToolName,
  text: string,
): Promise<string> {
  const cursor = tools.cursors.read(call.caller, name, text);
  if (name === 'list_changes') return changesPage(tools, call, cursor.args);
  const ask = askOf(tools, cursor.args, cursor.fromRow);
  let failure: unknown = null;
  for (const { args, cacheControl, knownByMs } of readingsOf(name, cursor)) {
    try {
      const page = await read(tools, { ...call, cacheControl }, name, args, ask);
      const isOfLaterFetch = knownByMs !== undefined && Date.parse(page.knownAt ?? '') > knownByMs;
      if (page.state === cursor.state && !isOfLaterFetch) return write(tools, call, name, page, cursor);
    } catch (error) {
      if (!(error instanceof GatewayError) || !GONE.has(error.code)) failure ??= error;
    }
  }
  throw failure ?? new GatewayError('cursor_expired');
}

/** @param args of the cursor for the next page */
function askOf({ cursors, caps }: PagedTools, args: QueryArguments, fromRow: number): PageAsk {
  const maxRows = Math.min(args.limit ?? caps.maxRows, caps.maxRows);
  return { caps: { ...caps, maxRows }, fromRow, cursorChars: cursors.charsFor(args) };
}

/** The feed has places of its own: an offset, in place of a row and the state of a result. */
async function changesPage(tools: PagedTools, call: ToolCall, args: ChangesArguments): Promise<string> {
  const { page, next } = await listChanges(tools, call, args, askOf(tools, args, 0));
  const { nextRow: _, ...rest } = page;
  if (next === null) return writePage({ ...rest, nextRow: null }, null);
  const cursor = { args: { ...args, offset: next }, fromRow: 0, state: page.state, atMs: null };
  return write(tools, call, 'list_changes', { ...rest, nextRow: page.totalRows }, cursor);
}

const read = (
  tools: PagedTools,
  call: ToolCall,
  name: keyof typeof RUN,
  args: object,
  ask: PageAsk,
): Promise<Page> => RUN[name](tools, call, args as never, ask);

/** Refusals of arguments that had a result before: its rows are there no more. */
const GONE: ReadonlySet<string> = new Set(['not_known_then', 'not_cached', 'not_final', 'invalid_query']);

interface Reading {
  readonly args: object;
  readonly cacheControl?: string;
  /** Rows of a later fetch are others, though they may look the same: those of the first page were erased. Epoch milliseconds. */
  readonly knownByMs?: number;
}

/** Whatever is cached, however old: a walk is about the rows of its first page. */
const CACHED = 'only-if-cached, max-stale';

/** Ways to read the result of a cursor again, the best first. */
function readingsOf(name: ToolName, { args, atMs }: Cursor): readonly Reading[] {
  if (name === 'query_report' && atMs === null) return [{ args, cacheControl: CACHED }, { args }];
  if (atMs === null) return [{ args }];
  const moment = new Date(atMs).toISOString();
  if (name === 'compare_as_of') {
    const { to = 'latest' } = args as CompareArguments;
    return [{ args: { ...args, to: to === 'latest' ? moment : to } }];
  }
  // The cache has states that history lacks: recorded in this moment, or never, as in a full store.
  return [{ args: { ...args, asOf: moment } }, { args, cacheControl: CACHED, knownByMs: atMs }];
}

/** @param cursor of this page */
function write(
  { cursors }: Pick<PagedTools, 'cursors'>,
  { caller }: ToolCall,
  name: ToolName,
  page: Page,
  cursor: Cursor,
): string {
  const { nextRow } = page;
  return writePage(
    page,
    nextRow === null ? null : cursors.write(caller, name, { ...cursor, fromRow: nextRow }),
  );
}
