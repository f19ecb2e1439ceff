/** The condition of each part of the gateway: of this process, and the worst over all processes. */
import { hostname } from 'node:os';
import Type, { type Static } from 'typebox';
import { parseOrNull } from '../lib/json.js';
import { VERSION } from '../lib/package-root.js';
import { type Frozen, readableOf } from '../lib/record.js';
import { CONDITIONS } from './conditions.js';
import { Failures, failingSince, isOver, joinFailures, NO_FAILURES, warningRow } from './failures.js';
import { Finding, type HealthPart, LEVELS } from './finding.js';
import { LimitRefusals } from './limit-refusals.js';
import type { Measured } from './measured.js';
import { RefusedCalls } from './refused-keys.js';

/** `ok`, or what is wrong; never a secret or an address. */
export type Conditions = Readonly<Record<HealthPart, string>>;

/** Recent: within the last five minutes. A failed report is one that could not be answered. */
const LOADS = [
  'l1Bytes',
  'l1Entries',
  'callsRunning',
  'callsQueued',
  'recentCalls',
  'recentFailedCalls',
  'recentReports',
  'recentFailedReports',
  'recentWithoutSlot',
] as const;
type Load = Readonly<Record<(typeof LOADS)[number], number>>;

const eachLoad = <T>(read: (name: keyof Load) => T) =>
  Object.fromEntries(LOADS.map((name) => [name, read(name)])) as Record<keyof Load, T>;

/** Since when a part has not been well, or all parts together so bad, over all processes. */
export const Since = Type.Object(
  { level: Finding.properties.level, at: Type.String({ format: 'date-time' }) },
  { title: 'Since' },
);
export type Since = Frozen<Static<typeof Since>>;

/** The platform token of a process, by id. */
export interface HeldToken {
  /** Null: none, or not reported. */
  readonly tokenId: string | null;
  /** When the process took it over, ISO. */
  readonly tokenSince: string | null;
}

/** What a process reports. */
export interface ProcessHealth extends Conditions, Load, HeldToken {
  /** As this process knows it; null: well. `whole`: all parts. */
  readonly since: Readonly<Record<HealthPart | 'whole', Since | null>>;
  readonly failures: Failures;
  readonly limitRefusals: readonly LimitRefusals[];
  readonly refusedKeys: readonly RefusedCalls[];
  /** Unique among all processes. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Of the program; empty: not reported. */
  readonly version: string;
}

export type Health = ReturnType<typeof createHealth>;

/**
 * @param measured called later: its parts may be created after this
 * @param held the platform token of this process
 * @param now wall time
 */
export function createHealth(id: string, measured: () => Measured, held: () => HeldToken, now: () => number) {
  const sources: (() => readonly ProcessHealth[])[] = [];
  const host = hostname();
  let since: ProcessHealth['since'] = { ...eachPart(() => null), whole: null };

  function read(): ProcessHealth {
    const gateway = measured();
    const { l1, budget } = gateway;
    const { calls, failed } = gateway.recentCalls.lastMinutes();
    const reports = gateway.recentReports();
    return {
      id,
      host,
      pid: process.pid,
      version: VERSION,
      ...eachPart((part) => readPart(part, gateway)),
      l1Bytes: l1.bytes,
      l1Entries: l1.entries,
      callsRunning: budget.running,
      callsQueued: budget.queued,
      recentCalls: calls,
      recentFailedCalls: failed,
      recentReports: reports.all,
      recentFailedReports: reports.failed,
      recentWithoutSlot: gateway.withoutSlot(),
      since,
      failures: gateway.failures(),
      limitRefusals: gateway.limitRefusals(),
      refusedKeys: gateway.refusedKeys.list(),
      ...held(),
    };
  }

  function others(): readonly ProcessHealth[] {
    const byId = new Map<string, ProcessHealth>();
    for (const source of sources) for (const one of source()) byId.set(one.id, one);
    byId.delete(id);
    return [...byId.values()];
  }

  /**
   * Of each part: the earliest time that a process knows, and that this one takes over, so that a restart of one of them does
   * not lose it; a part that gets worse or better keeps it. The whole is at least as old as each part that is as bad.
   */
  function own(): ProcessHealth {
    const all = [read(), ...others()];
    const worst = worstOfAll(all);
    const failures = joinFailures(all.map((one) => one.failures));
    // Three calls are known to fail in a row with the third; it began with the first. A refused token is seen after it was refused.
    const begun: Partial<Record<keyof ProcessHealth['since'], readonly number[]>> = {
      platform: [warningRow(failures)?.sinceMs ?? []].flat(),
      credential: failingSince(failures, 'credential', now()),
    };
    const earliest = (of: keyof ProcessHealth['since'], level: Finding['level'], least = level): Since => {
      const known = all.flatMap((one) => one.since[of] ?? []).filter((one) => isAsBad(one.level, least));
      const first = new Date(Math.min(now(), ...(begun[of] ?? []))).toISOString();
      const [at = first] = [first, ...known.map((one) => one.at)].sort();
      return { level, at };
    };
    const levels = eachPart((part) => levelOf(part, worst[part]));
    const level = LEVELS.findLast((one) => Object.values(levels).some((of) => of === one)) ?? 'well';
    const parts = eachPart((part) =>
      levels[part] === null ? null : earliest(part, levels[part], 'starting'),
    );
    since = { ...parts, whole: level === 'well' ? null : wholeSince(earliest('whole', level), parts) };
    return { ...(all[0] as ProcessHealth), since };
  }

  function worstOfAll(all: readonly ProcessHealth[]): Conditions {
    const { recentCalls: calls, recentFailedCalls: failed } = addLoads(all);
    const failures = joinFailures(all.map((one) => one.failures));
    const together = {
      ...measured(),
      recentCalls: { lastMinutes: () => ({ calls, failed }) },
      failures: () => failures,
    };
    const textsOf = (part: HealthPart) => [readPart(part, together), ...all.map((one) => one[part])];
    return eachPart((part) => worstOf(part, textsOf(part)));
  }

  const processes = (): readonly ProcessHealth[] => [own(), ...others()];

  return {
    id,
    /** Adds a source of reports of other processes. If two report the same process, the later source wins. */
    hear: (others: () => readonly ProcessHealth[]) => void sources.push(others),
    own,
    /** This process first, then the others. */
    processes,
    /**
     * The worst condition of each part over all processes, and of their platform calls together: each may have made too few to
     * be judged by.
     */
    worst: (): Conditions => worstOfAll(processes()),
  };
}

const rowsOf = (part: HealthPart) => CONDITIONS.filter((row) => row.part === part);

/** The worst condition of this process. A row that throws does not hide the others. */
function readPart(part: HealthPart, gateway: Measured): string {
  const texts = rowsOf(part).map(({ text, read }) => {
    try {
      const found = read(gateway);
      return found === true ? text : found || 'ok';
    } catch {
      return 'unknown';
    }
  });
  return worstOf(part, texts);
}

function eachPart<T>(read: (part: HealthPart) => T): Readonly<Record<HealthPart, T>> {
  return { store: read('store'), credential: read('credential'), platform: read('platform') };
}

/** The worst of these texts, or `ok`. */
export function worstOf(part: HealthPart, texts: readonly string[]): string {
  return texts.reduce((worst, text) => (severity(part, text) > severity(part, worst) ? text : worst), 'ok');
}

/** An unknown text, of a newer version, counts as the worst. */
function severity(part: HealthPart, text: string): number {
  if (text === 'ok') return 0;
  if (isOver(text)) return 0.5;
  const at = rowsOf(part).findIndex((row) => text.startsWith(row.text));
  return at < 0 ? CONDITIONS.length : at + 1;
}

/** A part that has become as bad as the whole did not begin then. */
function wholeSince(known: Since, parts: Readonly<Record<HealthPart, Since | null>>): Since {
  const asBad = Object.values(parts).flatMap((one) =>
    one !== null && isAsBad(one.level, known.level) ? one.at : [],
  );
  const [at = known.at] = [known.at, ...asBad].sort();
  return { ...known, at };
}

/** @returns null for `ok` */
function levelOf(part: HealthPart, text: string): Finding['level'] | null {
  if (text === 'ok' || isOver(text)) return null;
  return rowsOf(part).find((row) => text.startsWith(row.text))?.level ?? 'not well';
}

const isAsBad = (one: Finding['level'], level: Finding['level']): boolean =>
  LEVELS.indexOf(one) >= LEVELS.indexOf(level);

export const addLoads = (all: readonly Load[]): Load =>
  eachLoad((name) => all.reduce((total, one) => total + one[name], 0));

/** The report of another process, perhaps of another version: what is missing or unreadable counts as `ok` or 0. */
const Report = Type.Object({
  id: Type.String(),
  host: Type.Optional(Type.String()),
  pid: Type.Optional(Type.Number()),
  version: Type.Optional(Type.String()),
  store: Type.Optional(Type.String()),
  credential: Type.Optional(Type.String()),
  platform: Type.Optional(Type.String()),
  ...eachLoad(() => Type.Optional(Type.Number())),
  since: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Null(), Since]))),
  failures: Type.Optional(Failures),
  limitRefusals: Type.Optional(Type.Array(LimitRefusals)),
  refusedKeys: Type.Optional(Type.Array(RefusedCalls)),
  tokenId: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  tokenSince: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

/** @param text JSON. @returns null if it is not such a report */
export const readProcessHealth = (text: string): ProcessHealth | null => asProcessHealth(parseOrNull(text));

/** The same for a parsed value. */
export function asProcessHealth(value: unknown): ProcessHealth | null {
  const report = readableOf(Report, value);
  if (report === undefined) return null;
  return {
    id: report.id,
    host: report.host ?? '',
    pid: report.pid ?? 0,
    version: report.version ?? '',
    ...eachPart((part) => report[part] ?? 'ok'),
    ...eachLoad((name) => report[name] ?? 0),
    since: { ...eachPart((part) => report.since?.[part] ?? null), whole: report.since?.whole ?? null },
    failures: report.failures ?? NO_FAILURES,
    limitRefusals: report.limitRefusals ?? [],
    refusedKeys: report.refusedKeys ?? [],
    tokenId: report.tokenId ?? null,
    tokenSince: report.tokenSince ?? null,
  };
}
