/** Calls with keys that were valid once: an app of a team goes on with its old key. Of one process, and of all together. */
import Type, { type Static } from 'typebox';
import { createLastUsed } from '../lib/last-used.js';
import { createRecent } from '../lib/recent.js';
import type { Frozen } from '../lib/record.js';

const WHY = ['revoked', 'expired', 'replaced'] as const;

/** A key of a refused request, without a secret. */
export interface RefusedKey {
  readonly team: string;
  readonly key: string;
  readonly label: string;
  readonly why: (typeof WHY)[number];
  /** ISO time from which it is refused; null: not by a time of its own, e.g. as its team was deleted. */
  readonly endedAt: string | null;
}

export const RefusedCalls = Type.Object(
  {
    team: Type.String(),
    key: Type.String({ description: 'Id of the key.' }),
    label: Type.String(),
    why: Type.Enum([...WHY], { description: 'replaced: it was rolled, and the old secret was sent.' }),
    endedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    calls: Type.Integer({ minimum: 1, description: 'Within the last hour.' }),
    lastAt: Type.String({ format: 'date-time' }),
    address: Type.String({ description: 'Of the last one.' }),
  },
  { title: 'RefusedCalls', description: 'Calls with a key that is not valid any more.' },
);
export type RefusedCalls = Frozen<Static<typeof RefusedCalls>>;

const [STEP_MS, STEPS] = [5 * 60_000, 12];
/** Of each process. */
const MAX_KEYS = 20;

/** @param now wall time */
export function createRefusedKeys(now: () => number) {
  const counts = createLastUsed<{
    readonly recent: ReturnType<typeof createRecent>;
    last: Omit<RefusedCalls, 'calls'>;
  }>(MAX_KEYS);
  return {
    note(refused: RefusedKey, address: string): void {
      const id = `${refused.key} ${refused.why}`;
      const last = { ...refused, address, lastAt: new Date(now()).toISOString() };
      const known = counts.get(id) ?? { recent: createRecent(now, STEP_MS, STEPS), last };
      known.last = last;
      known.recent.add(true);
      counts.set(id, known);
    },
    /** Of the last hour. */
    list: (): readonly RefusedCalls[] =>
      [...counts.values()]
        .map(({ last, recent }) => ({ ...last, calls: recent.sum().all }))
        .filter(({ calls }) => calls > 0),
  };
}

/** Of all processes, most calls first. */
export function joinRefused(all: readonly RefusedCalls[]): readonly RefusedCalls[] {
  const joined = new Map<string, RefusedCalls>();
  for (const one of all) {
    const id = `${one.key} ${one.why}`;
    const known = joined.get(id);
    const last = known === undefined || one.lastAt > known.lastAt ? one : known;
    joined.set(id, { ...last, calls: one.calls + (known?.calls ?? 0) });
  }
  return [...joined.values()].sort((one, other) => other.calls - one.calls);
}

/** E.g. `team growth called 3 times in the last hour with the key 'app', revoked on 2026-11-29, last from 10.0.0.7; give it the new key`. */
export function describeRefused({ team, key, label, why, endedAt, calls, address }: RefusedCalls): string {
  const times = calls === 1 ? 'once' : `${calls} times`;
  const ended = endedAt === null ? why : `${why} on ${endedAt.slice(0, 10)}`;
  return `team ${team} called ${times} in the last hour with the key '${label || key}', ${ended}, last from ${address} (give it the new key)`;
}
