/** Days as one answer: one column, one metric. Pure. */
import { encodeTypes, joinTypes, rewritesFor } from './column-types.js';
import { bodyHash, type Entry, ROW_SEPARATOR, type RowsHeader, rewriteBody } from './entry.js';
import { joinFlaws } from './flaws.js';
import { joinEmptyDays } from './freshness.js';
import { JsonObject, parseRows, writeJson } from './json.js';
import { columnsBySource } from './row-names.js';

/** What a join reads of rows. */
export interface RowsPart {
  readonly header: Pick<RowsHeader, 'columns' | 'sources' | 'types' | 'rowCount'>;
  readonly body: Buffer;
}

/**
 * Renames columns of days from different fetches, where one name stands for different members.
 * @returns mostly the parts themselves
 */
export function settleNames<P extends RowsPart | Entry>(parts: readonly P[]): readonly P[] {
  if (parts.length < 2 || shareNames(parts)) return parts;
  const columnOf = columnsBySource(parts.flatMap((part) => (hasRows(part) ? sourcesOf(part.header) : [])));
  return parts.map((part) => (hasRows(part) ? renamed(part, columnOf) : part));
}

/** Identical lists, as of days of one answer: they have the names of its join. */
function shareNames(parts: readonly (RowsPart | Entry)[]): boolean {
  const filled = parts.filter(hasRows).filter(({ header }) => header.rowCount > 0);
  const [first] = filled;
  return filled.every(
    ({ header }) => header.columns === first?.header.columns && header.sources === first.header.sources,
  );
}

const hasRows = <P extends RowsPart | Entry>(part: P): part is P & RowsPart => 'columns' in part.header;

const sourcesOf = ({ columns, sources }: RowsPart['header']) => sources ?? columns;

function renamed<P extends RowsPart>(part: P, columnOf: ReadonlyMap<string, string>): P {
  const { header, body } = part;
  const columns = sourcesOf(header).map((source) => columnOf.get(source) as string);
  if (columns.every((column, at) => column === header.columns[at])) return part;
  const names = new Map(header.columns.map((column, at) => [column, columns[at] as string]));
  const rows = header.rowCount === 0 ? [] : parseRows(String(body));
  const rename = (name: string) => names.get(name) ?? name;
  const texts = rows.map((row) => writeJson(new JsonObject(row.names.map(rename), row.values)));
  const text = Buffer.from(texts.join(ROW_SEPARATOR));
  return { body: text, header: { ...header, columns, hash: bodyHash(text) } } as RowsPart as P;
}

/** The rows of all parts, and the parts that have any, with the names of the join. */
export function joinRows<P extends RowsPart>(parts: readonly P[]) {
  const filled = settleNames(parts.filter(({ header }) => header.rowCount > 0));
  const separator = Buffer.from(ROW_SEPARATOR);
  const rewrites = rewritesFor(filled.map(({ header }) => header));
  const bodies = filled.map((entry, index) => rewriteBody(entry.body, rewrites[index] ?? null));
  const body = Buffer.concat(bodies.flatMap((one, index) => (index === 0 ? [one] : [separator, one])));
  return { filled, body };
}

/** One answer for the whole range, as old as its oldest day. */
export function joinEntries(parts: readonly Entry<RowsHeader>[]): Entry<RowsHeader> {
  const { filled, body } = joinRows(parts);
  const columnOf = columnsBySource(filled.flatMap(({ header }) => sourcesOf(header)));
  const columns = [...columnOf.values()];
  const [oldest] = parts.toSorted((a, b) => a.header.fetchedAt - b.header.fetchedAt) as [Entry<RowsHeader>];
  const last = parts.at(-1) as Entry<RowsHeader>;
  const { emptySince: _, flaws: __, forgotten: ___, complete: ____, ...header } = oldest.header;
  const flaws = joinFlaws(parts.map((entry) => entry.header));
  return {
    body,
    header: {
      ...header,
      firstDay: parts[0]?.header.lastDay as string,
      lastDay: last.header.lastDay,
      ...joinEmptyDays(parts.map((entry) => entry.header)),
      seq: Math.min(...parts.map(({ header }) => header.seq)),
      accounts: [...new Set(parts.flatMap(({ header }) => header.accounts))].sort(),
      columns,
      sources: [...columnOf.keys()],
      types: encodeTypes(columns, joinTypes(filled.map((entry) => entry.header))),
      rowCount: parts.reduce((sum, { header }) => sum + header.rowCount, 0),
      ...joinSizes(parts.map((entry) => entry.header)),
      hash: bodyHash(body),
      splitFrom: null,
      ...(flaws.length === 0 ? {} : { flaws }),
      ...joinForgotten(parts),
      ...(oldest.header.splitFrom === null ? {} : { joinedUnder: oldest.header.splitFrom.generation }),
    },
  };
}

/** Of the largest answer that is not proven complete. */
function joinSizes(
  all: readonly Pick<RowsHeader, 'answerRows' | 'complete'>[],
): Pick<RowsHeader, 'answerRows' | 'complete'> {
  const open = all.filter(({ complete }) => complete === undefined);
  const answerRows = Math.max(...(open.length === 0 ? all : open).map((one) => one.answerRows));
  return open.length === 0 ? { answerRows, complete: true } : { answerRows };
}

/** The part of a join that is from history. */
function joinForgotten(parts: readonly Entry<RowsHeader>[]): Pick<RowsHeader, 'forgotten'> {
  const all = parts.flatMap(({ header }) => header.forgotten ?? []);
  const [first] = all;
  const missing = all.flatMap((one) => one.missing ?? []);
  if (first === undefined) return {};
  const forgotten = {
    code: first.code,
    days: all.flatMap(({ days }) => days),
    ...(missing.length === 0 ? {} : { missing }),
    sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)),
    seenMs: Math.min(...all.map(({ seenMs }) => seenMs)),
    final: all.every(({ final }) => final),
    againMs: Math.min(...all.map(({ againMs }) => againMs)),
  };
  return { forgotten };
}
