/** What goes wrong, and when: decided by the seed before anything is begun. */
import type { Chance } from './chance-of-seed.js';

export type StoreFault = 'late' | 'lost-request' | 'lost-answer' | 'cut-off' | 'deaf' | 'babbling';
export type PlatformFault = 'slow' | 'error-500' | 'too-many' | 'reset' | 'truncated' | 'silent';

export interface Window<Kind> {
  readonly kind: Kind;
  readonly fromMs: number;
  readonly toMs: number;
  /** Of a replica alone; null: of all. */
  readonly replica: string | null;
}

export interface Faults {
  readonly store: readonly Window<StoreFault>[];
  readonly platform: readonly Window<PlatformFault>[];
  /** The server of the store starts again with nothing, or as it was so many milliseconds before. */
  readonly losses: readonly {
    readonly atMs: number;
    readonly kind: 'emptied' | 'failover';
    readonly backMs: number;
  }[];
  /** Whether what a replica asked of the store, or was told, may have come late or not at all in this time. */
  disturbed(replica: string, fromMs: number, toMs: number): boolean;
  /** The fault of a kind that an occasion falls into. */
  storeFault(replica: string, atMs: number): StoreFault | null;
  platformFault(atMs: number): PlatformFault | null;
}

const STORE: readonly StoreFault[] = ['late', 'lost-request', 'lost-answer', 'cut-off', 'deaf', 'babbling'];
const PLATFORM: readonly PlatformFault[] = ['slow', 'error-500', 'too-many', 'reset', 'truncated', 'silent'];

export interface FaultOptions {
  readonly replicas: readonly string[];
  /** From when to when callers ask: outside of it nothing goes wrong. */
  readonly workMs: readonly [number, number];
  /** Whether the store may lose what it was told. */
  readonly mayLose: boolean;
  /** Whether the platform is silent for long, and the store late at the end of that. */
  readonly isCrowd: boolean;
}

export function planFaults(chance: Chance, options: FaultOptions): Faults {
  const { replicas, mayLose, isCrowd } = options;
  const [beginMs, calmMs] = options.workMs;
  const windows = <Kind>(kinds: readonly Kind[], count: number, longestMs: number): Window<Kind>[] =>
    Array.from({ length: count }, () => {
      const fromMs = chance.between(beginMs, calmMs - 500);
      return {
        kind: chance.pick(kinds),
        fromMs,
        toMs: Math.min(calmMs, fromMs + chance.between(200, longestMs)),
        replica: chance.is(0.7) ? chance.pick(replicas) : null,
      };
    });
  const store = windows(STORE, chance.between(0, 5), 4_000);
  const platform = windows(PLATFORM, chance.between(0, 4), 3_000);
  if (isCrowd) {
    platform.unshift({ kind: 'silent', fromMs: beginMs, toMs: beginMs + 2_000, replica: null });
    store.unshift({ kind: 'late', fromMs: beginMs + 1_500, toMs: calmMs, replica: null });
  }
  const losses =
    mayLose && chance.is(0.3)
      ? [
          {
            atMs: chance.between(beginMs + 1_000, calmMs - 500),
            kind: chance.is(0.3) ? ('emptied' as const) : ('failover' as const),
            backMs: chance.between(0, 400),
          },
        ]
      : [];
  const meets = ({ replica }: Window<unknown>, one: string) => replica === null || replica === one;
  return {
    store,
    platform,
    losses,
    disturbed: (replica, fromMs, toMs) =>
      losses.some(({ atMs }) => atMs >= fromMs - 10_000 && atMs <= toMs) ||
      store.some(
        (window) => meets(window, replica) && window.fromMs <= toMs && window.toMs >= fromMs - 3_000,
      ),
    storeFault: (replica, atMs) =>
      store.find((window) => meets(window, replica) && window.fromMs <= atMs && atMs < window.toMs)?.kind ??
      null,
    platformFault: (atMs) => platform.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs)?.kind ?? null,
  };
}
