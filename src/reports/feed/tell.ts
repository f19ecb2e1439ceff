/** What writes of months tell the feed of changes. Pure. */
import type { Told } from '../../store/changes-port.js';
import type { MonthPlace } from '../../store/days-port.js';
import type { Month } from '../days/month.js';
import type { MonthReport } from '../history/revision.js';
import type { DivisibilityStatus } from '../learn/learn.js';
import type { Report } from '../query/canonicalize.js';
import { buildPlatformCall } from '../query/platform-call.js';
import { encodeEntry } from './entry.js';
import { changesOf, type ToldMonth } from './month-changes.js';

interface WhenWritten {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Order of the newest fetch that the write brings; 0: it brings none. */
  readonly order: number;
}

/** @param cause erased: revisions were removed with their advertiser. @returns null: nothing is to be told */
export function toldOf(
  { series, month }: MonthPlace,
  before: ToldMonth & Pick<Month, 'report'>,
  after: ToldMonth,
  { at, order }: WhenWritten,
  cause?: 'erased',
): Told | null {
  const changes = changesOf(before, after, cause);
  if (changes.length === 0) return null;
  const txid = (order === 0 ? at : order).toString(36);
  const { report } = before;
  const erased = cause === 'erased' && report !== null;
  return encodeEntry({ type: 'days', series, month, at, txid, changes, ...(erased && { report }) });
}

/**
 * Generation of which a fetch tells days. A kind that is not known to be refuted stays as it was told: this process may not know of
 * a proof yet, and the walk of the leader (tell-kinds.ts) looks at all months after a change of their kind.
 */
export function tellsOf({
  state,
  generation,
}: Pick<DivisibilityStatus, 'state' | 'generation'>): string | null | undefined {
  if (state === 'proven') return generation;
  return state === 'refuted' ? null : undefined;
}

/** @param kind its `divisibilityId` */
export function monthReport(report: Report, kind: string): MonthReport {
  const known = reports.get(report);
  if (known?.kind === kind) return known;
  const { endpoint, method, account, split } = report;
  const { target } = buildPlatformCall(report, null, null);
  const mark = target.indexOf('?');
  const query = method === 'POST' ? null : mark < 0 ? '' : target.slice(mark + 1);
  const made = { kind, endpoint, query, account, split };
  reports.set(report, made);
  return made;
}

/** Memoized: reports are parsed once. */
const reports = new WeakMap<Report, MonthReport>();
