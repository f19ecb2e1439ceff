/** The tool `list_changes`: the feed of changes as a table. */
import type { Feed, FeedBatch } from '../../reports/feed/feed.js';
import { writeOffset } from '../../reports/feed/offset.js';
import { decimalOf, shownAs } from '../../reports/rows/decimal.js';
import { type Page, type PageAsk, pageOf } from '../../reports/tables/pages.js';
import { type Row, type Table, tableOf } from '../../reports/tables/table.js';
import { unlessAway } from '../data/ask.js';
import { openCaller, readerOf, readQuestion } from '../data/changes-question.js';
import { whatHappened } from '../operations/change-words.js';
import type { Change } from '../operations/past.js';
import { queryOf } from './report-of.js';
import type { ToolCall, ToolParts } from './tool-call.js';
import type { ChangesArguments } from './tools.js';

interface ChangesPage {
  /** Of all rows that were read: `nextRow` is null. */
  readonly page: Page;
  /** The offset of what follows; null: nothing does. */
  readonly next: string | null;
}

/**
 * Reads as many changes as a page holds.
 * @throws GatewayError
 */
export async function listChanges(
  { feed, identify, nameOf }: Pick<ToolParts, 'feed' | 'identify' | 'nameOf'>,
  { ask }: ToolCall,
  args: ChangesArguments,
  page: PageAsk,
): Promise<ChangesPage> {
  const caller = openCaller(identify)(ask);
  const question = readQuestion(queryOf(pairsOf(args)));
  const reader = readerOf(caller, question, nameOf);
  for (let limit = page.caps.maxRows; ; ) {
    const batch = await unlessAway(readBatch(feed, reader, question.from, limit));
    const found = pageOf(changesTable(batch), page);
    if (found.nextRow === null)
      return { page: found, next: batch.isUpToDate ? null : writeOffset(batch.next) };
    // Too many bytes: the same changes again, as many as fit.
    limit = found.nextRow;
  }
}

function pairsOf({ offset, advertiserId, endpoint, split, series }: ChangesArguments) {
  const given = { offset, advertiserId, endpoint, split: split?.join(), series };
  return Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: String(value) }],
  );
}

type ReadOf = Parameters<Feed['read']>;

async function readBatch(
  feed: Feed,
  reader: ReadOf[0],
  from: ReadOf[1] | 'now',
  limit: number,
): Promise<FeedBatch> {
  if (from !== 'now') return feed.read(reader, from, limit);
  return { body: '[]', count: 0, isUpToDate: true, ...(await feed.newest()) };
}

function changesTable({ body, next, isUpToDate, sinceMs }: FeedBatch): Table {
  const about = {
    upToDate: isUpToDate,
    nextOffset: writeOffset(next),
    keptSince: new Date(sinceMs).toISOString(),
  };
  const rows = (JSON.parse(body) as readonly Change[]).map(rowOf);
  const measures = rows.flatMap(Object.keys).filter((name) => name.includes('.'));
  return tableOf(about, rows, [...COLUMNS, ...new Set(measures)]);
}

const COLUMNS = ['seenAt', 'date', 'what', 'advertiserId', 'endpoint', 'report', 'series', 'final'];

/** Measures are `spent.old` and `spent.new`. */
function rowOf({ type, key, value = {}, old_value: old, headers }: Change): Row {
  const seenAt = headers.timestamp;
  if (type === 'grant') {
    const right = headers.operation === 'insert' ? 'may be read now' : 'may no longer be read';
    return { seenAt, what: right, advertiserId: Number(key) };
  }
  const [series, date] = key.split(' ');
  const { advertiserId, endpoint, report, final, totals = {} } = value;
  const names = new Set([...Object.keys(old?.totals ?? {}), ...Object.keys(totals)]);
  const measures = [...names].flatMap((name) => [
    [`${name}.old`, numberOf(old?.totals?.[name])],
    [`${name}.new`, numberOf(totals[name])],
  ]);
  return {
    ...{ seenAt, date, what: whatHappened(headers), advertiserId, endpoint, report, series, final },
    ...Object.fromEntries(measures),
  };
}

/** As in reports: a text where a JSON number would not be exact. */
function numberOf(text: string | undefined): number | string | null {
  const number = decimalOf(text);
  return number === null ? null : shownAs(number);
}
