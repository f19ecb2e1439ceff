/** Changes of a report between two moments, from history alone: `GET /gateway/v1/diff`. */

import { type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { turn } from '../../lib/time.js';
import { VARY } from '../../reports/cache/reply.js';
import { diffDay, isSameMethod, type RowDiff } from '../../reports/history/diff-days.js';
import type { PinnedPart } from '../../reports/history/pinned-rows.js';
import type { PinnedRows } from '../../reports/history/pins.js';
import { type HistoricDay, rowsOf } from '../../reports/history/read.js';
import type { Moment, Revision } from '../../reports/history/revision.js';
import { readAsOf } from '../../reports/options.js';
import { negotiateFormat } from '../../reports/query/output-options.js';
import type { ReportReply } from '../../reports/report-call.js';
import type { Reports } from '../../reports/reports.js';
import { revisionOf, showId } from '../../reports/rows/answer-meta.js';
import { CONTENT_TYPES } from '../../reports/rows/assemble.js';
import { ROW_SEPARATOR } from '../../reports/rows/entry.js';
import { refuseForeignAccounts } from '../../teams/policy/authorize.js';
import { type AskCall, type AskedCall, ask, daysAskedAbout } from './ask.js';
import { findPin } from './pins.js';

interface DiffDay extends Pick<HistoricDay, 'lacks'> {
  readonly entry: PinnedPart;
  readonly revision: Pick<Revision, 'schema' | 'credential'>;
}

/** One side: the days as known at a moment, or as pinned. */
interface DiffSide {
  /** An instant, `first`, `latest`, or the id of a pin. */
  readonly name: string;
  readonly days: readonly DiffDay[];
}

/** @throws GatewayError as for the report; `not_known_then`; `not_found` for a pin; `not_acceptable` */
export async function showDiff(g: Reports, call: AskCall): Promise<ReportReply> {
  const asked = await ask(g, call, ['from', 'to', '_format']);
  const { report, series } = asked.question;
  const dates = daysAskedAbout(asked);
  const format = formatOf(asked, call.accept);
  const { from, to } = momentsOf(asked, g);
  const { state, generation: proven } = g.learner.status(report);
  const generation = state === 'proven' ? proven : null;
  const sideAt = async ({ name, moment }: NamedMoment): Promise<DiffSide> => ({
    name,
    days: await g.history.readDays({ series, dates, generation, moment, rules: g.policy.rulesFor(report) }),
  });
  const pinned = 'pin' in from ? await findPin(g, asked.caller, from.pin) : null;
  if (pinned !== null) refuseOtherReport(pinned, asked, to);
  const now = await sideAt(to);
  const old = pinned === null ? await sideAt(from as NamedMoment) : pinnedSide(pinned, dates, now);
  const accounts = [old, now].flatMap(({ days }) => days.flatMap(({ entry }) => entry.header.accounts));
  refuseForeignAccounts(asked.caller, accounts);
  const { rows, methodDays } = await diffDays(old, now, dates, report.split);
  call.trace.mark('answer');
  call.trace.rows = rows.length;
  const type = CONTENT_TYPES[format];
  const headers = { 'cache-control': 'private, no-store', vary: VARY, 'content-type': type };
  if (format === 'csv') return { status: 200, headers, body: [await writeCsv(g, rows)] };
  const inexactDays = dates.filter((_date, at) => [old, now].some(({ days }) => days[at]?.lacks !== null));
  const meta = {
    endpoint: report.endpoint,
    advertiserId: showId(report.account),
    period: { from: report.from, to: report.to },
    split: report.split,
    from: old.name,
    to: now.name,
    revisionFrom: revisionOf(old.days.map(({ entry }) => entry)),
    revisionTo: revisionOf(now.days.map(({ entry }) => entry)),
    rowCount: rows.length,
    ...(methodDays.length === 0 ? {} : { methodDays }),
    ...(inexactDays.length === 0 ? {} : { inexactDays }),
  };
  const data = await inPieces(rows, ({ dimensions, changed, kind }) => [
    JSON.stringify({ ...Object.fromEntries(dimensions), changed: Object.fromEntries(changed), kind }),
  ]);
  const end = Buffer.from(`],"meta":${JSON.stringify(meta)}}`);
  return { status: 200, headers, body: [Buffer.from('{"data":['), ...data, end] };
}

async function diffDays(
  old: DiffSide,
  now: DiffSide,
  dates: readonly string[],
  split: readonly string[],
): Promise<{ readonly rows: RowDiff[]; readonly methodDays: string[] }> {
  const rows: RowDiff[] = [];
  const methodDays: string[] = [];
  for (const [at, date] of dates.entries()) {
    const [one, other] = [old.days[at] as DiffDay, now.days[at] as DiffDay];
    if (one.entry.header.splitFrom?.sortedHash === other.entry.header.splitFrom?.sortedHash) continue;
    const isMethod = !isSameMethod(shaped(one), shaped(other));
    if (isMethod) methodDays.push(date);
    const look = ({ entry }: DiffDay) => ({ rows: rowsOf(entry), columns: entry.header.columns });
    rows.push(...diffDay(look(one), look(other), { date, split, isMethod }));
    await turn();
  }
  return { rows, methodDays };
}

function shaped({ revision, entry }: DiffDay) {
  return { revision, header: entry.header };
}

/** A pin does not record the token of its days: the token of the other side is assumed. */
function pinnedSide({ pin, parts }: PinnedRows, dates: readonly string[], other: DiffSide): DiffSide {
  const byDate = new Map(parts.map((entry) => [entry.header.lastDay, entry]));
  const days = dates.map((date, at) => {
    const entry = byDate.get(date);
    if (entry === undefined)
      throw new GatewayError('internal_error', { internal: `${pin.id} lacks ${date}` });
    const { credential = null } = other.days[at]?.revision ?? {};
    return { entry, revision: { schema: '', credential }, lacks: null };
  });
  return { name: pin.id, days };
}

function formatOf({ given }: AskedCall, accept: string | undefined): 'json' | 'csv' {
  const asked = given.get('_format') ?? null;
  if (asked !== null && asked !== 'json' && asked !== 'csv')
    throw invalidQuery(mustBe('_format', 'one of json, csv'));
  const format = negotiateFormat(asked, accept, 'json');
  if (format === 'json' || format === 'csv') return format;
  throw new GatewayError('not_acceptable', { help: 'Accept application/json or text/csv, or use _format.' });
}

/** One line per changed cell. */
async function writeCsv(
  { workerPool }: Pick<Reports, 'workerPool'>,
  rows: readonly RowDiff[],
): Promise<Buffer> {
  const dimensions = new Set(['date', ...rows.flatMap((row) => [...row.dimensions.keys()])]);
  const columns = [...dimensions, 'kind', 'column', 'old', 'new', 'diff', 'percent'];
  const chunks = await inPieces(rows, ({ dimensions: own, changed, kind }) =>
    [...changed].map(([column, cell]) =>
      JSON.stringify({ ...Object.fromEntries(own), kind, column, ...cell }),
    ),
  );
  if (chunks.length === 0) return Buffer.from(`${columns.join(',')}\r\n`);
  return workerPool.format({ format: 'csv', chunks, columns, rowCount: rows.length, bom: false });
}

const ROWS_AT_ONCE = 500;

/** Joins the texts of rows, taking turns with other requests. */
async function inPieces(
  rows: readonly RowDiff[],
  textsOf: (row: RowDiff) => readonly string[],
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const text = rows
      .slice(at, at + ROWS_AT_ONCE)
      .flatMap(textsOf)
      .join(ROW_SEPARATOR);
    if (text !== '') pieces.push(Buffer.from(pieces.length === 0 ? text : `${ROW_SEPARATOR}${text}`));
    await turn();
  }
  return pieces;
}

interface NamedMoment {
  readonly name: string;
  readonly moment: Moment;
}

/**
 * The moments of a diff: instants, past days, words, or a pin.
 * @throws GatewayError `invalid_query` for an invalid moment, or if `from` is after `to`
 */
function momentsOf(
  { given, question }: AskedCall,
  { canonical, now }: Pick<Reports, 'canonical' | 'now'>,
): { readonly from: NamedMoment | { readonly pin: string }; readonly to: NamedMoment } {
  const { account } = question.report;
  const faults: FieldFault[] = [];
  const read = (param: 'from' | 'to', word: 'first' | 'latest'): NamedMoment | null => {
    const text = given.get(param);
    if (text === word) return { name: word, moment: word };
    const startOfDay = (day: number) => canonical.startOfDayOf(account, day);
    const asOf =
      text === undefined
        ? { fault: 'is missing' }
        : readAsOf(text, now(), canonical.todayOf(account), startOfDay);
    if ('atMs' in asOf) return { name: new Date(asOf.atMs).toISOString(), moment: { at: asOf.atMs } };
    faults.push({ param, message: `${asOf.fault}; ${ALLOWED[param]}` });
    return null;
  };
  const pin = /^pin_[\w-]{1,64}$/.test(given.get('from') ?? '') ? (given.get('from') as string) : null;
  const [from, to] = [pin === null ? read('from', 'first') : null, read('to', 'latest')];
  if (from !== null && to !== null && instantOf(from) > instantOf(to))
    faults.push({ param: 'from', message: `is after to (${to.name}): from must be the earlier moment` });
  if (faults.length > 0) throw invalidQuery(...faults);
  return { from: pin === null ? (from as NamedMoment) : { pin }, to: to as NamedMoment };
}

/** @throws GatewayError `invalid_query` for a pin of another report, or one newer than `to` */
function refuseOtherReport({ pin }: PinnedRows, { question }: AskedCall, to: NamedMoment): void {
  const { report, series } = question;
  const isSame = pin.series === series && pin.from === report.from && pin.to === report.to;
  const message = !isSame
    ? `is a pin of another report or period: use ${pin.endpoint}?${pin.query} as endpoint and query`
    : pin.revision === null
      ? 'is a pin of a whole answer, which cannot be compared by day'
      : pin.knownAt > instantOf(to)
        ? `is a pin of data of ${new Date(pin.knownAt).toISOString()}, which is after to (${to.name})`
        : null;
  if (message !== null) throw invalidQuery({ param: 'from', message });
}

const ALLOWED = {
  from: 'allowed are an instant (2026-11-03T08:00:00Z), a past day (2026-11-03), first, or the id of a pin',
  to: 'allowed are an instant (2026-11-03T08:00:00Z), a past day (2026-11-03), latest',
};

/** For comparison: `first` is before, and `latest` after, every instant. */
function instantOf({ moment }: NamedMoment): number {
  if (typeof moment === 'object') return moment.at;
  return moment === 'latest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
}
