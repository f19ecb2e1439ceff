/**
 * Stage: look up → (use | refresh behind | ask the platform) → keep.
 *
 * Gives one part of a report, from the cache where its freshness allows, and says how it came by it.
 */
import type { Logger } from 'pino';
import type { Flights } from '../cache/flights.js';
import type { Purges } from '../cache/purges.js';
import type { CacheTier, TierWrite } from '../cache/tier.js';
import { GatewayError } from '../errors.js';
import type { Wish } from '../http/cache-directives.js';
import type { Outcome } from '../outcome.js';
import type { CallReport } from '../platform/client.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { ageMs, type FreshnessRules, freshForMs, type State, stateAt } from '../report/freshness.js';
import { bytesKey, rowsKey } from '../report/keys.js';
import { isPartHeader, type Part } from '../report/part.js';
import type { Fetched, FetchReport } from './fetch-report.js';

export interface GatherAsk {
  readonly report: CanonicalReport;
  /** Identity of the report without its period. */
  readonly series: string;
  /** rows: normalised · bytes: the platform's own. */
  readonly form: 'rows' | 'bytes';
  readonly wish: Wish;
  readonly team: string;
  readonly onTry?: (report: CallReport) => void;
}

export interface Gathered {
  readonly part: Part;
  readonly outcome: Outcome;
  readonly stored: boolean;
  readonly degraded: boolean;
  /** Whether it may be kept at all: not what the platform said no-store to. */
  readonly keep: boolean;
}

export interface GatherOptions {
  readonly tier: CacheTier;
  readonly flights: Flights;
  readonly purges: Purges;
  readonly fetchReport: FetchReport;
  readonly rules: FreshnessRules;
  readonly negativeMs: number;
  readonly now: () => number;
  readonly logger: Logger;
  /** Keeps work that outlives its request, so that a graceful stop can wait for it. */
  readonly background: (work: Promise<unknown>) => void;
}

/** Errors for which an old answer is better than none (contract: never on another 4xx). */
const EXCUSES: readonly string[] = [
  'upstream_error',
  'upstream_timeout',
  'upstream_invalid_response',
  'upstream_too_large',
  'upstream_rate_limited',
  'upstream_circuit_open',
  'upstream_budget_exhausted',
  'credential_unavailable',
  'overloaded',
];

export type Gather = (ask: GatherAsk) => Promise<Gathered>;

export function createGather(options: GatherOptions): Gather {
  const { tier, flights, purges, rules, now, logger } = options;

  return async function gather(ask) {
    const keys = keysOf(ask);
    const { found, degraded } = await lookUp(ask, keys);
    const use = found === null ? null : judge(found, ask.wish);
    if (found !== null && use !== null) {
      if (use === 'stale') refreshBehind(ask, keys, found);
      return { part: found, outcome: use, stored: false, degraded, keep: true };
    }
    if (ask.wish.onlyIfCached) throw new GatewayError('not_cached');
    return askPlatform(ask, keys, found, degraded);
  };

  /** Rows fall back to bytes: of an answer that is not JSON only those are kept. */
  async function lookUp(
    { report, form }: GatherAsk,
    keys: Keys,
  ): Promise<{ found: Part | null; degraded: boolean }> {
    const { entries, degraded } = await tier.read(form === 'rows' ? [keys.rows, keys.bytes] : [keys.bytes]);
    for (const entry of entries) {
      if (entry === null || !isPartHeader(entry.header)) continue;
      const part: Part = { header: entry.header, body: entry.body };
      const serves = part.header.form !== 'bytes' || form === 'bytes' || part.header.opaque;
      if (serves && !isPurged(part, report)) return { found: part, degraded };
    }
    return { found: null, degraded };
  }

  function isPurged({ header }: Part, { account, endpoint, from, to }: CanonicalReport): boolean {
    return purges.isPurged({ seq: header.seq, advertiserId: account, endpoint, from: from.iso, to: to.iso });
  }

  /** What a cached part may be used as, by the freshness rules and the caller's own wish; null: not at all. */
  function judge(part: Part, wish: Wish): 'hit' | 'stale' | null {
    const age = ageMs(part.header.fetchedAt, now());
    if (wish.maxAgeMs !== null && age > wish.maxAgeMs) return null;
    if (wish.maxAgeMs === 0) return null;
    const state = stateOf(part);
    if (state === 'fresh') return 'hit';
    if (state === 'revalidate') return 'stale';
    const staleMs = age - freshForMs(part.header, rules);
    return state === 'error-only' && wish.maxStaleMs !== null && staleMs <= wish.maxStaleMs ? 'stale' : null;
  }

  function stateOf({ header }: Part): State {
    if (header.form !== 'refusal') return stateAt(header, rules, now());
    return ageMs(header.fetchedAt, now()) < options.negativeMs ? 'fresh' : 'absent';
  }

  async function askPlatform(
    ask: GatherAsk,
    keys: Keys,
    found: Part | null,
    degraded: boolean,
  ): Promise<Gathered> {
    try {
      const flight = flights.join(flightOf(keys), () => fetchAndKeep(ask, keys, found));
      const { fetched, stored } = await flight.result;
      const outcome = flight.leads ? (found === null ? 'miss' : 'refresh') : 'collapsed';
      return { part: choose(fetched, ask.form), outcome, stored, degraded, keep: fetched.storable };
    } catch (error) {
      if (
        found === null ||
        found.header.form === 'refusal' ||
        !isExcuse(error) ||
        stateOf(found) === 'absent'
      )
        throw error;
      return { part: found, outcome: 'stale-if-error', stored: false, degraded, keep: true };
    }
  }

  /** Whoever asks after a purge must not be given what was asked for before it. */
  function flightOf({ rows }: Keys): string {
    return `${purges.seq} ${rows}`;
  }

  async function fetchAndKeep(ask: GatherAsk, keys: Keys, earlier: Part | null): Promise<Kept> {
    const { report } = ask;
    const fetched = await options.fetchReport({
      report,
      from: report.from.iso,
      to: report.to.iso,
      team: ask.team,
      seq: purges.seq,
      earlier: earlier?.header ?? null,
      ...(ask.onTry === undefined ? {} : { onTry: ask.onTry }),
    });
    const stored = fetched.storable && (await tier.write(entriesOf(fetched, keys)));
    return { fetched, stored };
  }

  function entriesOf(fetched: Fetched, keys: Keys): TierWrite[] {
    const ttlMs = (part: Part) => freshForMs(part.header, rules) + rules.staleIfErrorMs;
    if (fetched.kind === 'refusal') {
      return [keys.rows, keys.bytes].map((key) => ({ key, ...fetched.refusal, ttlMs: options.negativeMs }));
    }
    const { rows, bytes } = fetched;
    return [
      { key: keys.bytes, ...bytes, ttlMs: ttlMs(bytes) },
      ...(rows === null ? [] : [{ key: keys.rows, ...rows, ttlMs: ttlMs(rows) }]),
    ];
  }

  function refreshBehind(ask: GatherAsk, keys: Keys, found: Part): void {
    const { onTry: _, ...rest } = ask;
    // In a function of its own, for joining may be refused, and the stale answer is to be given even so.
    const refresh = async () => {
      await flights.join(flightOf(keys), () => fetchAndKeep({ ...rest, team: 'gateway' }, keys, found))
        .result;
    };
    const work = refresh().catch((error: unknown) => {
      logger.warn({ err: error, endpoint: ask.report.endpoint }, 'a refresh behind a stale answer failed');
    });
    options.background(work);
  }
}

interface Keys {
  readonly rows: string;
  readonly bytes: string;
}

function keysOf({ series, report: { from, to } }: GatherAsk): Keys {
  return { rows: rowsKey(series, from.iso, to.iso), bytes: bytesKey(series, from.iso, to.iso) };
}

interface Kept {
  readonly fetched: Fetched;
  readonly stored: boolean;
}

function choose(fetched: Fetched, form: 'rows' | 'bytes'): Part {
  if (fetched.kind === 'refusal') return fetched.refusal;
  if (form === 'bytes') return fetched.bytes;
  if (fetched.rows !== null) return fetched.rows;
  if (fetched.bytes.header.opaque) return fetched.bytes;
  throw fetched.rowsFault;
}

function isExcuse(error: unknown): boolean {
  return error instanceof GatewayError && EXCUSES.includes(error.code);
}
