/**
 * Stops writes of one team or all. A stop is a record of the registry: it applies in every replica as soon as its registry
 * is updated, survives restarts, and is written with its audit line.
 */
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { commitChange, updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { guardUnavailable } from './reservations.js';

const ALL = 'writes/all';
const TEAM_PREFIX = 'writes/team/';

/** Maximum age of the known stops for writes of guarded teams. */
const STALE_MS = 2_000;

export const Stop = Type.Object(
  {
    /** Name of an admin token. */
    by: Type.String(),
    at: Type.String({ format: 'date-time' }),
    reason: Type.String(),
  },
  { title: 'WriteStop' },
);
const StopRecord = recordForm(Stop);
type WriteStop = RecordOf<typeof StopRecord>;

/** The part of the brake that a write uses. */
export type Brake = Pick<ReturnType<typeof createBrake>, 'check'>;

/**
 * @param isGuarded writes of guarded teams are refused while the stops are unknown; others continue on the last known
 *   state
 */
export function createBrake(registry: Registry, isGuarded: (team: string) => boolean) {
  return {
    /** @throws GatewayError `writes_stopped`; `write_guard_unavailable` for a guarded team, after {@link STALE_MS} */
    check(team: string): void {
      const all = registry.get(ALL)?.value;
      if (all !== undefined) throw stopped(readStop(all), 'of all teams');
      const own = registry.get(TEAM_PREFIX + team)?.value;
      if (own !== undefined) throw stopped(readStop(own), 'of this team');
      if (registry.staleForMs() > STALE_MS && isGuarded(team)) throw guardUnavailable(NOT_KNOWN);
    },
    /** The active stops. `all`: null if there is no stop of all teams. */
    stops(): {
      readonly all: WriteStop | null;
      readonly teams: readonly (WriteStop & { readonly team: string })[];
    } {
      const all = registry.get(ALL)?.value;
      const teams = registry
        .list(TEAM_PREFIX)
        .map(([id, { value }]) => ({ team: id.slice(TEAM_PREFIX.length), ...readStop(value) }));
      return {
        all: all === undefined ? null : readStop(all),
        teams: teams.sort((one, other) => (one.team < other.team ? -1 : 1)),
      };
    },
    /** @param team null: all teams. @throws StoreUnavailable */
    stop(team: string | null, stop: WriteStop, audit: string): Promise<void> {
      return updateRecord(registry, idOf(team), () => ({ text: JSON.stringify(stop), audit: [audit] }));
    },
    /** @throws GatewayError `conflict` if there is no stop, or it changed at the same time; StoreUnavailable */
    async resume(team: string | null, audit: string): Promise<void> {
      const id = idOf(team);
      // This replica may not know the stop yet.
      await registry.refresh();
      await commitChange(registry, STOPPED_ANEW, () => {
        const found = registry.get(id);
        if (found === undefined) throw new GatewayError('conflict', { detail: notStopped(team) });
        const expect = new Map([[id, found.revision]]);
        return { writes: new Map([[id, null]]), expect, audit: [audit] };
      });
    },
  };
}

const STOPPED_ANEW = {
  what: 'The stop was',
  help: 'Read GET /admin/v1/writes, and resume writes again if still wanted.',
};

const idOf = (team: string | null) => (team === null ? ALL : `${TEAM_PREFIX}${team}`);

/** An unreadable stop still stops writes. */
function readStop(text: string): WriteStop {
  const { by, at, reason } = StopRecord.parse(text) ?? UNREADABLE;
  return { by, at, reason };
}

const UNREADABLE: WriteStop = {
  by: 'unknown',
  at: '1970-01-01T00:00:00.000Z',
  reason: 'the record of the stop is unreadable',
};

function stopped({ at, reason }: WriteStop, whose: string): GatewayError {
  return new GatewayError('writes_stopped', {
    detail: `Writes ${whose} are stopped since ${at}: ${reason}. Nothing was sent to the platform.`,
    retryAfterS: 60,
  });
}

const notStopped = (team: string | null) =>
  team === null
    ? 'There is no stop for all teams; name a team to resume its writes.'
    : `The team ${team} has no stop of its own; resume a stop for all teams without naming one.`;

const NOT_KNOWN =
  'The store does not respond, so it is unknown whether writes are stopped. Nothing was sent to the platform.';
