/** Knows what the platform said and when, who may see what, and which changes were acknowledged; judges every answer. */
import { FORGOTTEN_MS } from '../../src/reports/rows/freshness.js';
import type { ReportBody } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';
import type { Faults } from './faults.js';
import { RULES } from './replicas.js';
import type { Scheduler } from './scheduler.js';
import { mostSkewMs, type Shape } from './shape.js';
import { dayAgo, type Said, type SimPlatform } from './sim-platform.js';

export interface Asked {
  readonly replica: string;
  readonly team: string;
  readonly key: string;
  readonly advertiser: number;
  readonly from: string;
  readonly to: string;
  readonly byDate: boolean;
  readonly days: boolean;
  readonly directive: string | null;
  /** By the scheduler's time, as all below. */
  readonly atMs: number;
  /** By the wall's. */
  readonly wallMs: number;
}

export interface Given {
  readonly status: number;
  /** Of a problem. */
  readonly code: string | null;
  readonly cacheStatus: string;
  readonly body: ReportBody | null;
}

/** A change: it may be in force from when it was asked for on, and is when it was acknowledged. */
export interface Change {
  readonly byReplica: string;
  readonly askedMs: number;
  /** Null: its outcome is not known. */
  doneMs: number | null;
}

export interface Policy extends Change {
  readonly advertisers: readonly number[] | '*';
}

export interface PurgeOrder extends Change {
  readonly advertiser: number | null;
}

/** What an answer showed, and the moment at which that was known. */
export interface Known {
  readonly asked: Pick<Asked, 'advertiser' | 'from' | 'to'>;
  readonly knownAt: string;
  readonly rows: ReadonlyMap<string, number | null>;
}

export interface Oracle {
  /** Answers by days, which the history has. */
  readonly known: Known[];
  readonly policies: Map<string, Policy[]>;
  readonly revoked: Map<string, Change>;
  readonly purges: PurgeOrder[];
  /** @throws what is wrong with the answer */
  judge(asked: Asked, given: Given): void;
  /** Answers judged, by their status and code. */
  readonly counts: Map<string, number>;
}

/** Within so much every replica that reaches the store knows of a change. */
const PROMISE_MS = 1_000;
/** Longer no caller waits: a call's time, its retries, and the waiting for others before. */
const LONGEST_MS = 3 * RULES.timeoutMs;

/** What a caller may be told while platform, store or credential are ill; and of its own doing. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...['upstream_error', 'upstream_timeout', 'upstream_circuit_open', 'upstream_rate_limited'],
  ...['upstream_invalid_response', 'credential_unavailable', 'not_ready', 'overloaded'],
  ...['advertiser_forbidden', 'revoked_api_key', 'invalid_api_key'],
]);

export interface OracleOptions {
  readonly platform: SimPlatform;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly shape: Shape;
}

export function createOracle({ platform, scheduler, faults, shape }: OracleOptions): Oracle {
  const skewMs = mostSkewMs(shape);
  const policies = new Map<string, Policy[]>();
  const revoked = new Map<string, Change>();
  const purges: PurgeOrder[] = [];
  const known: Known[] = [];
  const counts = new Map<string, number>();

  /** Whether a replica has to know of a change at a moment. */
  function isKnown({ byReplica, doneMs }: Change, replica: string, atMs: number): boolean {
    if (doneMs === null || doneMs > atMs) return false;
    if (byReplica === replica && !faults.disturbed(replica, doneMs, atMs)) return true;
    return atMs >= doneMs + PROMISE_MS && !faults.disturbed(replica, doneMs, atMs);
  }

  /** @returns for each policy that may have been in force whether it allows what was asked */
  function allowed({ replica, team, advertiser, atMs }: Asked): boolean[] {
    const all = policies.get(team) ?? [];
    // What came before the newest one that the replica has to know of is over.
    const since = all.findLastIndex((policy) => isKnown(policy, replica, atMs));
    return all
      .slice(Math.max(0, since))
      .map(({ advertisers }) => advertisers === '*' || advertisers.includes(advertiser));
  }

  function judgeAccess(asked: Asked): void {
    const dead = revoked.get(asked.key);
    if (dead !== undefined && isKnown(dead, asked.replica, asked.atMs))
      wrong(`a key revoked at ${dead.doneMs} was answered`);
    if (!allowed(asked).includes(true)) wrong(`${asked.team} was shown advertiser ${asked.advertiser}`);
  }

  /** Nobody is refused what every policy that may have been in force allows, nor by a key that nobody revoked. */
  function judgeRefusal(asked: Asked, code: string): void {
    if (code === 'advertiser_forbidden' && !allowed(asked).includes(false))
      wrong(`${asked.team} was refused advertiser ${asked.advertiser}, which it may see`);
    if (code === 'revoked_api_key' && !revoked.has(asked.key)) wrong('a key that nobody revoked was refused');
  }

  function purgedSince({ replica, advertiser, atMs }: Asked): number {
    const known = purges.filter(
      (purge) =>
        (purge.advertiser === null || purge.advertiser === advertiser) && isKnown(purge, replica, atMs),
    );
    return Math.max(0, ...known.map(({ askedMs }) => askedMs));
  }

  /** A part of an answer: said by the platform at or after its `asOf`, and no older than it may be. */
  function judgePart(asked: Asked, part: Part, isRescued: boolean): void {
    const { from, to, value, asOf } = part;
    const asOfMs = Date.parse(asOf);
    const sinceMs = scheduler.momentOf(asOfMs - skewMs);
    const what = `${asked.advertiser} ${from} to ${to}: ${value} as of ${sinceMs}`;
    const said = platform.said(asked.advertiser, from, to, asked.byDate);
    // What is not to come from before a purge, or from a cache, was not even asked for before. Replicas tell by their
    // clocks whether another one's call began since.
    const isFetched = asked.directive === 'no-cache' && !isRescued;
    const earliestMs = Math.max(purgedSince(asked), isFetched ? asked.atMs - 2 * skewMs : 0);
    const spoken = said.filter(
      (one) => one.value === value && one.endMs >= sinceMs && one.atMs >= earliestMs,
    );
    if (spoken.length === 0)
      wrong(
        `the platform never said it since, and since ${earliestMs}: ${what}; it said ${JSON.stringify(said.slice(-5))}`,
      );
    if (asOfMs - skewMs > scheduler.trueMs()) wrong(`of the future: ${what}`);
    const ageMs = asked.wallMs - asOfMs;
    // One of those is what it was made of: what was said later is at least as new, and tells of another answer.
    const begun = spoken.filter(({ atMs }) => atMs <= scheduler.momentOf(asOfMs + skewMs));
    const freshS = Math.max(
      ...(begun.length > 0 ? begun : spoken).map((one) => freshSeconds(part, asOfMs, one, said)),
    );
    const leniencyS = RULES.staleWhileRevalidate + (isRescued ? RULES.staleIfError : 0);
    const limitMs = (freshS + leniencyS) * 1000 + skewMs;
    if (ageMs > limitMs) wrong(`${ageMs} ms old, and ${limitMs} are allowed: ${what}`);
  }

  function judgeReport(asked: Asked, { data, meta }: ReportBody, isRescued: boolean): void {
    for (const row of data) {
      if (row.advertiserId !== asked.advertiser) wrong(`a row of advertiser ${String(row.advertiserId)}`);
      const date = asked.byDate ? String(row.date) : asked.from;
      if (date < asked.from || date > asked.to) wrong(`a row of ${date}`);
    }
    const numberOf = (date: string | null) =>
      (data.find((row) => date === null || row.date === date)?.impressions ?? null) as number | null;
    if (!asked.byDate) {
      const part = {
        ...asked,
        value: numberOf(null),
        asOf: meta.asOf,
        eldest: asked.to,
        isAlone: false,
        isMissing: false,
      };
      judgePart(asked, part, isRescued);
      return;
    }
    const { advertiser, from, to } = asked;
    const rows = new Map<string, number | null>();
    for (let date = from; date <= to; date = dayAgo(Date.parse(date), -1)) rows.set(date, numberOf(date));
    if (meta.knownAt !== undefined)
      known.push({ asked: { advertiser, from, to }, knownAt: meta.knownAt, rows });
    const shown = new Map(meta.days?.map((day) => [day.date, day.asOf]));
    for (let date = asked.from; date <= asked.to; date = dayAgo(Date.parse(date), -1)) {
      // Rows of history are as old as they were seen last, and say nothing of the age of other days.
      const isForgotten = meta.warnings?.some(({ days = [] }) => days.includes(date)) === true;
      const isMissing = meta.warnings?.some(({ missing = [] }) => missing.includes(date)) === true;
      if (meta.source === 'history' && (isForgotten || !shown.has(date))) {
        const said = platform.said(advertiser, date, date, asked.byDate);
        if (!said.some(({ value }) => value === numberOf(date))) wrong(`never said of ${date}`);
        continue;
      }
      // Without a word on each day it is as old as the oldest, at most.
      const part = { from: date, to: date, value: numberOf(date), asOf: shown.get(date) ?? meta.asOf };
      const isAlone = shown.size > 0 || shape.divisible === 'never';
      judgePart(asked, { ...part, isAlone, isMissing, eldest: isAlone ? date : asked.from }, isRescued);
    }
  }

  return {
    known,
    policies,
    revoked,
    purges,
    counts,
    judge(asked, given) {
      const { status, code, cacheStatus, body } = given;
      const outcome = code ?? String(status);
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      const tookMs = scheduler.nowMs - asked.atMs;
      if (tookMs > LONGEST_MS) wrong(`answered after ${tookMs} ms, by ${outcome}`);
      if (status !== 200 && (code === null || !REFUSALS.has(code))) wrong(`answered ${status} ${code}`);
      if (code !== null) judgeRefusal(asked, code);
      if (body === null) return;
      judgeAccess(asked);
      judgeReport(asked, body, cacheStatus.includes('stale-if-error'));
    },
  };
}

/**
 * For how long a part is fresh. A day without rows at the end of its answer is believed when that very day was seen so
 * before, at least an hour ago.
 */
function freshSeconds(part: Part, asOfMs: number, one: Said, said: readonly Said[]): number {
  const { current, restating, final, empty, emptyFinal } = RULES.freshness;
  const { eldest, isAlone, isMissing } = part;
  if (isMissing) return FORGOTTEN_MS / 1000;
  if (eldest >= dayAgo(asOfMs, 0)) return current;
  const isFinal = eldest < dayAgo(asOfMs, RULES.restatementDays);
  const isBelieved = said.some((other) => other.isEmptyEnd && one.endWallMs - other.wallMs >= HOUR - MINUTE);
  if (isAlone && one.isEmptyEnd && !isBelieved) return isFinal ? emptyFinal : empty;
  return isFinal ? final : restating;
}

interface Part {
  readonly from: string;
  readonly to: string;
  readonly value: number | null;
  readonly asOf: string;
  /** The day by which it is judged how old it may be. */
  readonly eldest: string;
  /** A warning says that the platform lacks it, and history too. */
  readonly isMissing: boolean;
  /** Whether `asOf` is that of this day, and not of the oldest one of its answer. */
  readonly isAlone: boolean;
}

function wrong(what: string): never {
  throw new Error(what);
}
