import { type Answer, invalidAnswer, jsonAnswer, jsonTextAnswer } from './answer.js';
import { ADVERTISER_COUNT } from './catalogue.js';
import { momentAt, parseDay } from './days.js';
import { readPaging } from './paging.js';
import { bearerOf, type Platform, type PlatformCall, sourceOf } from './platform.js';
import { readReportQuery } from './read-report-query.js';
import { type Frame, type ReportRow, renderCsv, renderJson } from './render-report.js';
import type { Switches } from './switches.js';
import { creativeRows, type ReportQuery, reportRows } from './truth.js';

/** `campaigns` is documented; `creatives` and `export` exist without documentation. */
export type ReportName = 'campaigns' | 'creatives' | 'export';

/** Age of a vanished day, days. */
const VANISHED_AGE = 2;

/** Answers a report call that has passed authentication. */
export function answerReport(name: ReportName, platform: Platform, call: PlatformCall): Answer {
  const { switches } = platform;
  const at = platform.now();
  const { today } = momentAt(at, switches.timezone);
  const read = readReportQuery(call.input, today, switches.absentDates === 422);
  if ('errors' in read) return invalidAnswer(read.errors);
  if (read.foreign && switches.foreignAdvertiser !== 'empty')
    return refuseAccount(switches.foreignAdvertiser);
  const { query } = read;
  const oldest = switches.retentionDays === 0 ? query.from : today - switches.retentionDays;
  if (query.from < oldest && switches.beyondRetention !== 'empty')
    return refuseRange(switches.beyondRetention);
  const source = sourceOf(platform, query, at, emptyDaysOf(switches, today));
  const kept = { ...query, from: Math.max(query.from, oldest) };
  const rows = name === 'creatives' ? creativeRows(source, kept) : reportRows(source, kept);
  const frame: Frame = {
    switches,
    byDate: query.byDate,
    byCampaign: query.byCampaign,
    tellsViewable: source.tellsViewable,
    paging: readPaging(call.input, call.origin + call.path),
    unsplit: () => reportRows(source, { ...query, byDate: false, byCampaign: false }),
    echo: switches.echoToken ? bearerOf(call.headers) : undefined,
  };
  const shown = arrange(rows, query, switches);
  if (name !== 'export') return jsonTextAnswer(renderJson(shown, frame));
  return { status: 200, type: 'text/csv; charset=UTF-8', headers: {}, body: renderCsv(shown, frame) };
}

/** Day numbers that are answered without rows. */
function emptyDaysOf({ emptyDays, vanishingDays }: Switches, today: number): ReadonlySet<number> {
  const gone = vanishingDays.map(parseDay).filter((day) => day === today - VANISHED_AGE);
  return new Set([...emptyDays.map(parseDay), ...gone].filter((day) => day !== undefined));
}

function refuseRange(status: 400 | 422): Answer {
  const dateFrom = 'The dateFrom is before the first day that is kept.';
  return status === 422 ? invalidAnswer({ dateFrom: [dateFrom] }) : jsonAnswer(status, { message: dateFrom });
}

/** The refusal of an advertiser of another account. */
export function refuseAccount(status: 403 | 404 | 422): Answer {
  if (status === 422) return invalidAnswer({ advertiserId: ['The selected advertiserId is invalid.'] });
  const message =
    status === 403 ? 'This action is unauthorized.' : 'No query results for model [Advertiser].';
  return jsonAnswer(status, { message });
}

/** Applies the switches of order, foreign rows and cap. */
function arrange(rows: readonly ReportRow[], query: ReportQuery, switches: Switches): readonly ReportRow[] {
  const { rowOrder, foreignRows, rowCap } = switches;
  let shown = [...rows];
  if (rowOrder === 'date-descending') shown.sort((a, b) => (b.date ?? '').localeCompare(a.date ?? ''));
  if (rowOrder === 'campaign') shown.sort((a, b) => (a.campaignId ?? 0) - (b.campaignId ?? 0));
  const [first, ...others] = shown;
  if (foreignRows && first) shown = [first, { ...first, advertiserId: foreignTo(query) }, ...others];
  return rowCap > 0 ? shown.slice(0, rowCap) : shown;
}

/** Another advertiser of the account; if all were requested, one of another account. */
function foreignTo({ advertiserIds }: ReportQuery): number {
  const asked = advertiserIds?.[0];
  return asked === undefined ? ADVERTISER_COUNT + 1 : (asked % ADVERTISER_COUNT) + 1;
}
