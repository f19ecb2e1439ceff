/**
 * Row caps that were proven, as records of the registry: replicas share them, and a restart keeps them. One record for
 * each kind of report.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../record.js';
import type { Registry } from '../registry/replica.js';
import { updateRecord } from '../registry/update-record.js';
import type { Report } from '../report/canonicalize.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { Gateway } from './gateway.js';

const PREFIX = 'caps/';
/** Kinds and caps of a kind that are remembered; those learned first go first. */
const MAX_KINDS = 200;
const MAX_CAPS = 8;
/** A cap that was not seen again for so long is forgotten. */
const KEPT_MS = 30 * 86_400_000;

const CapList = recordForm(
  Type.Array(
    Type.Object({
      count: Type.Number(),
      /** The series that proved it: only that one can take it back. */
      series: Type.String(),
      /** Milliseconds since the epoch. */
      at: Type.Number(),
    }),
  ),
);
type KnownCap = RecordOf<typeof CapList>[number];

export type KnownCaps = ReturnType<typeof createKnownCaps>;

/** @param kindOf identity of a kind of report */
export function createKnownCaps(
  registry: Registry,
  kindOf: (report: Report) => string,
  { now, logger, background }: Pick<Gateway, 'now' | 'logger' | 'background'>,
) {
  /** What the registry did not take. */
  const own = new Map<string, readonly KnownCap[]>();

  function stored(kind: string): readonly KnownCap[] {
    const text = registry.get(PREFIX + kind)?.value;
    return text === undefined ? [] : CapList.read(text, PREFIX + kind);
  }

  function all({ report }: ReportSeries): readonly KnownCap[] {
    const kind = kindOf(report);
    return [...stored(kind), ...(own.get(kind) ?? [])].filter(({ at }) => now() - at < KEPT_MS);
  }

  async function change(
    { report }: ReportSeries,
    step: (caps: readonly KnownCap[]) => readonly KnownCap[],
  ): Promise<void> {
    const kind = kindOf(report);
    try {
      await updateRecord(registry, PREFIX + kind, () => {
        const before = stored(kind);
        const after = step(before);
        if (JSON.stringify(after) === JSON.stringify(before)) return null;
        return { text: JSON.stringify(after), also: surplus(PREFIX + kind) };
      });
      own.delete(kind);
    } catch (error) {
      if (own.size >= MAX_KINDS) own.clear();
      own.set(kind, step(own.get(kind) ?? stored(kind)));
      logger.warn(
        { err: error, kind },
        'a row cap could not be shared with other replicas; this process goes by it',
      );
    }
  }

  function surplus(record: string): [string, null][] {
    const others = registry.list(PREFIX).filter(([id]) => id !== record);
    return others
      .sort(([, a], [, b]) => a.revision - b.revision)
      .slice(0, Math.max(0, others.length + 1 - MAX_KINDS))
      .map(([id]) => [id, null]);
  }

  async function unlearn(what: ReportSeries, isNone: (cap: KnownCap) => boolean): Promise<void> {
    const isTakenBack = (cap: KnownCap) => cap.series === what.series && isNone(cap);
    const [cap] = all(what).filter(isTakenBack);
    if (cap === undefined) return;
    await change(what, (caps) => caps.filter((one) => !isTakenBack(one)));
    logger.info(
      { endpoint: what.report.endpoint, rows: cap.count },
      'an answer had more rows than a row cap that was learned: the cap is forgotten, and such answers are no longer asked for in halves',
    );
  }

  return {
    has: (what: ReportSeries, rowCount: number): boolean => all(what).some(({ count }) => count === rowCount),
    /** Never fails: what the registry does not take this process knows all the same. */
    async learn(what: ReportSeries, rowCount: number): Promise<void> {
      if (all(what).some(({ count, series }) => count === rowCount && series === what.series)) return;
      const cap = { count: rowCount, series: what.series, at: now() };
      await change(what, (caps) => [...caps.filter(({ count }) => count !== rowCount), cap].slice(-MAX_CAPS));
      logger.warn(
        { endpoint: what.report.endpoint, rows: rowCount },
        'the platform cuts answers off at a number of rows: answers with so many are asked for in halves; consider report.endpoints.*.rowCap',
      );
    },
    /** An answer with so many rows: lower caps of its series are none any more. */
    exceeded(what: ReportSeries, rowCount: number): void {
      if (all(what).some(({ count, series }) => series === what.series && count < rowCount)) {
        background(unlearn(what, ({ count }) => count < rowCount));
      }
    },
  };
}
