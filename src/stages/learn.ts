/**
 * Stage beside the path: learns whether answers may be cut by day, and goes on checking.
 *
 * The state lives in the registry, so that replicas share it. It changes rarely: a few times while learning, once
 * when proven, once when refuted.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EndpointRule } from '../config/schema.js';
import type { Registry } from '../registry/mirror.js';
import { updateRecord } from '../registry/update-record.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { dayNumber } from '../report/days.js';
import {
  type Agreement,
  agree,
  currentState,
  type Divisibility,
  divisibilityId,
  noteRestatement,
  pairId,
  refute,
  startLearning,
} from '../report/divisibility.js';
import { type FreshnessRules, isFinal } from '../report/freshness.js';
import type { Part, RowsHeader } from '../report/part.js';

const PREFIX = 'divisible/';
/** Kinds that are remembered; an application that sends a new unknown parameter each time must not fill the registry. */
const MAX_KINDS = 500;
/** Before anything was learned all replicas must cut under one name. */
const FIRST_GENERATION = 'first';

export type DivisibilityEvent = 'proven' | 'refuted' | 'restated' | 'agreed';

/** How reports of one kind are answered now. */
export interface Standing {
  readonly id: string;
  readonly state: Divisibility['state'];
  readonly pinned: boolean;
  readonly generation: string;
}

export interface Learner {
  standing(report: CanonicalReport): Standing;
  /** For people: what is known of a kind. */
  show(report: CanonicalReport): Divisibility | null;
  /**
   * Compares freshly cut days with what was known of them before.
   * @param alone fetches one day by itself, to tell a restatement from an answer that may not be cut
   */
  compare(news: Comparison, alone: FetchAlone): Promise<void>;
}

export interface Comparison {
  readonly report: CanonicalReport;
  readonly series: string;
  readonly fresh: readonly Part<RowsHeader>[];
  /** By date. */
  readonly known: ReadonlyMap<string, Part<RowsHeader>>;
}

/** @returns the day as the platform gives it when asked for nothing else; null when that cannot be told now */
export type FetchAlone = (date: string) => Promise<Part<RowsHeader> | null>;

export interface LearnerOptions {
  readonly registry: Registry;
  readonly rules: FreshnessRules;
  readonly endpoints: Readonly<Record<string, EndpointRule>>;
  readonly accountFields: readonly string[];
  readonly now: () => number;
  readonly logger: Logger;
  readonly onEvent: (event: DivisibilityEvent) => void;
}

export function createLearner(options: LearnerOptions): Learner {
  const { registry, rules, endpoints, accountFields, now, logger, onEvent } = options;
  /** Parsed records by their text. */
  let parsed = new Map<string, { readonly text: string; readonly value: Divisibility }>();

  function known(id: string): Divisibility | null {
    const text = registry.get(PREFIX + id)?.value;
    if (text === undefined) return null;
    const before = parsed.get(id);
    if (before?.text === text) return before.value;
    const value = JSON.parse(text) as Divisibility;
    if (parsed.size > MAX_KINDS) parsed = new Map();
    parsed.set(id, { text, value });
    return value;
  }

  function standing(report: CanonicalReport): Standing {
    const id = divisibilityId(report, accountFields);
    const { divisible = 'never' } = endpoints[report.endpoint] ?? {};
    const record = known(id);
    const generation = record?.generation ?? FIRST_GENERATION;
    if (divisible === 'auto') {
      return {
        id,
        pinned: false,
        generation,
        state: record === null ? 'learning' : currentState(record, now()),
      };
    }
    return { id, pinned: true, generation: 'pinned', state: divisible === 'always' ? 'proven' : 'refuted' };
  }

  async function compare(
    { report, series, fresh, known: before }: Comparison,
    alone: FetchAlone,
  ): Promise<void> {
    const { id, pinned, generation } = standing(report);
    if (pinned) return;
    const agreements: Agreement[] = [];
    const disputed: { date: string; newer: Part<RowsHeader>; samePeriod: boolean }[] = [];
    for (const newer of fresh) {
      const date = newer.header.lastDay as string;
      const older = before.get(date);
      if (older === undefined || !isComparable(older, newer, generation)) continue;
      const [a, b] = [older.header.cut, newer.header.cut] as [
        NonNullable<RowsHeader['cut']>,
        NonNullable<RowsHeader['cut']>,
      ];
      if (a.sortedHash !== b.sortedHash) {
        disputed.push({ date, newer, samePeriod: a.from === b.from && a.to === b.to });
      } else if (newer.header.rowCount > 0 && a.from !== b.from && a.to !== b.to) {
        agreements.push({ date, pair: pairId(series, `${a.from}/${a.to}`, `${b.from}/${b.to}`) });
      }
    }
    for (const { date, newer, samePeriod } of disputed) {
      if (!(await settle(id, date, newer, samePeriod, alone))) return;
    }
    if (agreements.length > 0) await change(id, (value) => agree(value, agreements, now()));
  }

  /** Only days past restatement in both answers say anything: the others may differ for good reasons. */
  function isComparable(older: Part<RowsHeader>, newer: Part<RowsHeader>, generation: string): boolean {
    const both = [older.header, newer.header];
    return both.every((header) => header.cut?.generation === generation && isFinal(header, rules));
  }

  /** @returns false when the day showed that answers may not be cut */
  async function settle(
    id: string,
    date: string,
    newer: Part<RowsHeader>,
    samePeriod: boolean,
    alone: FetchAlone,
  ): Promise<boolean> {
    const witness = samePeriod ? newer : await alone(date);
    if (witness === null) return true;
    if (witness.header.cut?.sortedHash === newer.header.cut?.sortedHash) {
      const ageDays = newer.header.fetchedOn - (dayNumber(date) as number);
      await change(id, (value) => noteRestatement(value, ageDays));
      onEvent('restated');
      logger.warn(
        { date, ageDays, restatementDays: rules.restatementDays },
        'the platform restated a final day; consider a longer report.restatementDays',
      );
      return true;
    }
    await change(id, (value) => refute(value, newGeneration(), now()));
    logger.error(
      { kind: id, date },
      'answers of this kind may not be cut by day; whole entries only, for a day',
    );
    return false;
  }

  async function change(id: string, step: (value: Divisibility) => Divisibility): Promise<void> {
    let reached: Divisibility['state'] | null = null;
    await updateRecord(registry, PREFIX + id, () => {
      const before = known(id) ?? startLearning(FIRST_GENERATION);
      const after = step(before);
      reached = after.state === before.state ? null : after.state;
      return after === before ? null : { text: JSON.stringify(after), also: surplus(PREFIX + id) };
    });
    if (reached !== null) announce(id, reached);
  }

  function announce(id: string, state: Divisibility['state']): void {
    if (state === 'learning') return;
    onEvent(state);
    logger.info({ kind: id, state }, 'whether answers may be cut by day');
  }

  /** The oldest kinds beyond the bound, to be forgotten; not those ever refuted, whose old segments must stay void. */
  function surplus(record: string): [string, null][] {
    const all = registry
      .list(PREFIX)
      .filter(([id, { value }]) => id !== record && value.includes(`"generation":"${FIRST_GENERATION}"`));
    const over = all.length + 1 - MAX_KINDS;
    if (over <= 0) return [];
    return all
      .sort(([, a], [, b]) => a.revision - b.revision)
      .slice(0, over)
      .map(([id]) => [id, null]);
  }

  return { standing, compare, show: (report) => known(divisibilityId(report, accountFields)) };
}

function newGeneration(): string {
  return randomBytes(6).toString('hex');
}
