/** Requests that the limits of teams refused within the last five minutes, by team, limit and its value then. */
import Type, { type Static } from 'typebox';
import type { TeamLimit } from '../errors.js';
import { createRecentMinutes } from '../lib/recent.js';
import type { Frozen } from '../lib/record.js';

export const LimitRefusals = Type.Object(
  {
    team: Type.String(),
    limit: Type.Enum(['requestsPerMinute', 'maxConcurrent', 'upstreamCallsPerDay']),
    value: Type.Integer({ description: 'Of the limit when it refused them.' }),
    requests: Type.Integer({ minimum: 1, description: 'Within the last five minutes.' }),
  },
  { title: 'LimitRefusals', description: 'Requests of a team that one of its limits refused.' },
);
export type LimitRefusals = Frozen<Static<typeof LimitRefusals>>;

/** Of one process. @param now wall time */
export function createLimitRefusals(now: () => number) {
  const known = new Map<
    string,
    Omit<LimitRefusals, 'requests'> & { recent: ReturnType<typeof createRecentMinutes> }
  >();
  return {
    note(team: string, { name: limit, value }: TeamLimit): void {
      const id = idOf({ team, limit, value });
      const one = known.get(id) ?? { team, limit, value, recent: createRecentMinutes(now) };
      known.set(id, one);
      one.recent.add(true);
    },
    list(): readonly LimitRefusals[] {
      const all = [...known].map(([id, { recent, ...one }]) => ({ id, ...one, requests: recent.sum().all }));
      for (const { id, requests } of all) if (requests === 0) known.delete(id);
      return all.filter(({ requests }) => requests > 0).map(({ id: _, ...one }) => one);
    },
  };
}

/** Of all processes, most requests first. */
export function joinLimitRefusals(all: readonly LimitRefusals[]): readonly LimitRefusals[] {
  const joined = new Map<string, LimitRefusals>();
  for (const one of all) {
    const requests = one.requests + (joined.get(idOf(one))?.requests ?? 0);
    joined.set(idOf(one), { ...one, requests });
  }
  return [...joined.values()].sort((one, other) => other.requests - one.requests);
}

const idOf = ({ team, limit, value }: Omit<LimitRefusals, 'requests'>) => `${limit} ${value} ${team}`;
