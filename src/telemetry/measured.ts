import type { Failures } from './failures.js';
import type { LimitRefusals } from './limit-refusals.js';
import type { RefusedCalls } from './refused-keys.js';

export interface GaugeRow {
  readonly name: string;
  readonly help: string;
  /** How values of workers are aggregated. */
  readonly of: 'sum' | 'min' | 'max';
  /** Null: no value. */
  readonly read: (gateway: Measured) => number | null;
}

/** The parts of this process that conditions and gauges read. */
export interface Measured {
  readonly clock: {
    now(): number;
    /** By how much the clock of Redis is ahead if nobody knows which one is right, else 0. */
    readonly apartMs: number;
  };
  readonly store: {
    readonly kind: 'redis' | 'embedded';
    health(): { readonly ok: boolean; readonly slow?: boolean; readonly reason?: string };
    memory?(): { readonly full: boolean };
    readonly days?: { room(): { readonly excessBytes: number } | null };
  };
  readonly registry: { readonly loss: unknown };
  /** Until when keys in memory are accepted if the store does not respond. */
  readonly keysUntilMs: () => number;
  readonly outlook: () => {
    readonly state: string;
    /** ISO times; null where there is none. */
    readonly expiresAt: string | null;
    readonly refusedAt: string | null;
    readonly expiryKnown: boolean | null;
    /** When the gateway renews it; null: it does not. */
    readonly renewsAt: string | null;
    readonly warningDays: number | null;
  };
  /** Whether the gateway can request a token from the platform. */
  readonly canMint: boolean;
  /** What a token that no platform call has proven waits for. */
  readonly awaitedProof: () => 'call' | 'report' | 'nothing';
  readonly l1: { readonly bytes: number; readonly entries: number };
  readonly budget: { readonly running: number; readonly queued: number };
  /** Maximum concurrent platform calls of this process. */
  readonly maxConcurrent: () => number;
  readonly pause: { leftMs(): number };
  readonly pace: {
    /** Null if the platform reports no rate. */
    status(): { readonly limit: number; readonly remaining: number } | null;
    waitMs(): number;
  };
  /** `failures`: calls in a row that failed. */
  readonly circuit: { readonly isOpen: boolean; readonly failures: number; leftMs(): number };
  readonly recentCalls: {
    /** Platform calls within the last five minutes. */
    lastMinutes(): { readonly calls: number; readonly failed: number };
  };
  readonly failures: () => Failures;
  /** In a check that has just called the platform: whom, and what came, as the end of a remedy. */
  readonly tried?: string;
  /** Reports within the last five minutes, and those that could not be answered. */
  readonly recentReports: () => { readonly all: number; readonly failed: number };
  readonly limitRefusals: () => readonly LimitRefusals[];
  /** Calls of the last hour with keys that are not valid any more. */
  readonly refusedKeys: { list(): readonly RefusedCalls[] };
  /** Requests within the last five minutes whose platform call got no slot; in a verdict of all processes. */
  readonly withoutSlot: () => number;
  /** Whether the platform returned a paged report within the last day. */
  readonly isPaged: () => boolean;
  /** Of the feed of changes. */
  readonly waitingReaders: () => number;
  readonly replicas: { readonly count: number };
  /** Names of settings that another process of the store has otherwise, though all must share them. */
  readonly settingsApart: () => readonly string[];
  /** Secret files whose current content is not in use. */
  readonly secretFaults: () => readonly { readonly name: string; readonly message: string }[];
  /** Of sign-ins; null: off. `fault`: why it cannot be used, as a code. */
  readonly provider: { fault(): string | null } | null;
  readonly brake: {
    stops(): { readonly all: Stop | null; readonly teams: readonly (Stop & { readonly team: string })[] };
  };
  /** Guarded writes of unknown outcome; null: unknown. */
  readonly unknownWrites: { count(): number | null };
  readonly log: {
    health(): { readonly ok: boolean; readonly reason?: string; readonly droppedLines: number };
  };
}

interface Stop {
  readonly by: string;
  /** ISO */
  readonly at: string;
  readonly reason: string;
}
