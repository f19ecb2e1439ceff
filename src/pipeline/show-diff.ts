/** `GET /gateway/v1/diff`: what became of a report between two moments, from history alone. */
import type { Learner } from '../divisibility/learn.js';
import { GatewayError } from '../errors.js';
import { diffDay, type RowDiff } from '../history/diff-days.js';
import { isSameMethod } from '../history/method.js';
import type { DayThen, ReadDays } from '../history/read-days.js';
import type { Revision } from '../history/revision.js';
import { rowsOf } from '../history/rows-of.js';
import type { AskCall } from '../http/ask-call.js';
import { negotiateFormat } from '../http/negotiate.js';
import type { ReportReply } from '../http/report-call.js';
import { VARY } from '../http/respond.js';
import type { PinnedRows } from '../pins/create-pins.js';
import { refuseForeignAccounts } from '../policy/check-advertiser.js';
import { revisionOf, showId } from '../report/answer-meta.js';
import { CONTENT_TYPES } from '../report/assemble.js';
import type { CanonicalRules } from '../report/canonicalize.js';
import { ROW_SEPARATOR } from '../report/entry.js';
import { turn } from '../time.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import type { AskedCall, AskReport } from './asked-report.js';
import { daysAskedAbout } from './by-day.js';
import { momentsOf, type NamedMoment, refuseOtherReport } from './diff-moments.js';
import type { ShowPins } from './show-pins.js';

interface DiffDay extends Pick<DayThen, 'entry' | 'lacks'> {
  readonly revision: Pick<Revision, 'schema' | 'credential'>;
}

/** One of the two sides: the days as they were known at a moment, or as a pin holds them. */
interface DiffSide {
  /** As it is shown: an instant, `first`, `latest`, or the id of a pin. */
  readonly name: string;
  /** In date order. */
  readonly days: readonly DiffDay[];
}

export interface ShowDiffOptions {
  readonly findPin: ShowPins['find'];
  readonly askReport: AskReport;
  readonly readDays: ReadDays;
  readonly learner: Pick<Learner, 'status'>;
  readonly canonical: CanonicalRules;
  readonly workerPool: Pick<WorkerPool, 'format'>;
  readonly now: () => number;
}

/** @throws GatewayError */
export type ShowDiff = (call: AskCall) => Promise<ReportReply>;

export function createShowDiff(options: ShowDiffOptions): ShowDiff {
  const { askReport, learner, readDays } = options;
  return async (call) => {
    const asked = await askReport.ask(call, ['from', 'to', '_format']);
    const { report, series } = asked.question;
    const dates = daysAskedAbout(asked);
    const format = formatOf(asked, call.accept);
    const { from, to } = momentsOf(asked, options);
    const { state, generation: of } = learner.status(report);
    const generation = state === 'proven' ? of : null;
    const pinned = 'pin' in from ? await options.findPin(asked.caller, from.pin) : null;
    const sideOf = async ({ name, moment }: NamedMoment): Promise<DiffSide> => ({
      ...{ name, days: await readDays({ series, dates, generation, moment }) },
    });
    if (pinned !== null) refuseOtherReport(pinned, asked, to);
    const now = await sideOf(to);
    const old = pinned === null ? await sideOf(from as NamedMoment) : pinnedSide(pinned, dates, now);
    const sides = [old, now];
    const accounts = sides.flatMap(({ days }) => days.flatMap(({ entry }) => entry.header.accounts));
    refuseForeignAccounts(asked.caller, accounts);
    const { rows, methodDays } = await diffDays(old, now, dates, report.split);
    call.trace.mark('answer');
    call.trace.rows = rows.length;
    const type = CONTENT_TYPES[format];
    const headers = { 'cache-control': 'private, no-store', vary: VARY, 'content-type': type };
    if (format === 'csv') return { status: 200, headers, body: [await writeCsv(options, rows)] };
    const meta = {
      endpoint: report.endpoint,
      advertiserId: showId(report.account),
      period: { from: report.from.iso, to: report.to.iso },
      split: report.split,
      from: old.name,
      to: now.name,
      revisionFrom: revisionOf(old.days.map(({ entry }) => entry)),
      revisionTo: revisionOf(now.days.map(({ entry }) => entry)),
      rowCount: rows.length,
      ...(methodDays.length === 0 ? {} : { methodDays }),
      ...lacksOf(sides, dates),
    };
    const data = await inPieces(rows, (row) => [JSON.stringify(showRow(row))]);
    const end = Buffer.from(`],"meta":${JSON.stringify(meta)}}`);
    return { status: 200, headers, body: [Buffer.from('{"data":['), ...data, end] };
  };
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

/** Of a pin it is not kept with which token its days were asked for: it is taken to be the same. */
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
    throw new GatewayError('invalid_query', {
      errors: [{ param: '_format', message: 'must be one of json, csv' }],
    });
  const format = negotiateFormat(asked, accept, 'json');
  if (format === 'json' || format === 'csv') return format;
  throw new GatewayError('not_acceptable', { help: 'Accept application/json or text/csv, or use _format.' });
}

/** Days of which something else was seen by then that is not kept. */
function lacksOf(sides: readonly DiffSide[], dates: readonly string[]): object {
  const inexact = dates.filter((_date, at) => sides.some(({ days }) => days[at]?.lacks !== null));
  return inexact.length === 0 ? {} : { inexactDays: inexact };
}

function showRow({ dimensions, changed, kind }: RowDiff): object {
  return { ...Object.fromEntries(dimensions), changed: Object.fromEntries(changed), kind };
}

/** A line for each cell. */
async function writeCsv(
  { workerPool }: Pick<ShowDiffOptions, 'workerPool'>,
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

/** Texts of rows, joined; whoever asks for a report meanwhile goes first. */
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
