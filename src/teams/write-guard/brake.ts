/**
 * Stops writes, of one team or of all. The order is kept in the registry, so it is in force in every replica as soon as
 * it hears of it, outlives restarts, and is written with its audit line.
 */
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { recordForm } from '../../lib/record.js';
import { commitChange, updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Brake, guardUnavailable } from './types.js';

const PREFIX = 'writes/';
const ALL = `${PREFIX}all`;
const TEAM_PREFIX = `${PREFIX}team/`;

/** How old what is known of the brake may be where a guard relies on it, milliseconds. */
const STALE_MS = 2_000;

export const Stop = Type.Object(
  {
    /** Who stopped it: the name of an admin token. */
    by: Type.String(),
    at: Type.String({ format: 'date-time' }),
    reason: Type.String(),
  },
  { title: 'WriteStop' },
);
const StopRecord = recordForm(Stop);
export interface WriteStop {
  readonly by: string;
  /** ISO */
  readonly at: string;
  readonly reason: string;
}

export interface WriteStops {
  /** Of every team; null: writes are not stopped for all. */
  readonly all: WriteStop | null;
  readonly teams: readonly (WriteStop & { readonly team: string })[];
}

export interface BrakeLever extends Brake {
  stops(): WriteStops;
  /**
   * @param team null: of all teams
   * @param audit a line stored with it
   * @throws StoreUnavailable
   */
  stop(team: string | null, stop: WriteStop, audit: string): Promise<void>;
  /** @throws GatewayError `conflict` when nothing was stopped, or it was stopped anew meanwhile; StoreUnavailable */
  resume(team: string | null, audit: string): Promise<void>;
}

export interface BrakeOptions {
  readonly registry: Registry;
  /**
   * Whether a team's writes rely on the brake: where its state is not known, they are refused. Those of other teams go on
   * as was known last, so that who uses no guard loses nothing by it when the store is away.
   */
  readonly isGuarded: (team: string) => boolean;
}

export function createBrake({ registry, isGuarded }: BrakeOptions): BrakeLever {
  const textOf = (team: string | null) => registry.get(idOf(team))?.value;

  return {
    check(team) {
      for (const [text, whose] of [
        [textOf(null), 'of all teams'],
        [textOf(team), 'of this team'],
      ] as const)
        if (text !== undefined) throw stopped(readStop(text), whose);
      if (registry.staleForMs() > STALE_MS && isGuarded(team)) throw guardUnavailable(NOT_KNOWN);
    },
    stops() {
      const all = textOf(null);
      const teams = registry.list(TEAM_PREFIX).map(([id, { value }]) => ({
        team: id.slice(TEAM_PREFIX.length),
        ...readStop(value),
      }));
      return {
        all: all === undefined ? null : readStop(all),
        teams: teams.sort((one, other) => (one.team < other.team ? -1 : 1)),
      };
    },
    stop: (team, stop, audit) =>
      updateRecord(registry, idOf(team), () => ({ text: JSON.stringify(stop), audit: [audit] })),
    async resume(team, audit) {
      const id = idOf(team);
      // What this replica has not heard of yet can be lifted, too.
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
  help: 'Read GET /admin/v1/writes, and resume writes again if that is still wanted.',
};

const idOf = (team: string | null) => (team === null ? ALL : `${TEAM_PREFIX}${team}`);

/** One that cannot be read stops writes all the same. */
function readStop(text: string): WriteStop {
  const { by, at, reason } = StopRecord.parse(text) ?? UNREADABLE;
  return { by, at, reason };
}

const UNREADABLE: WriteStop = {
  by: 'unknown',
  at: '1970-01-01T00:00:00.000Z',
  reason: 'the record of the stop cannot be read',
};

function stopped({ at, reason }: WriteStop, whose: string): GatewayError {
  return new GatewayError('writes_stopped', {
    detail: `Writes ${whose} are stopped since ${at}: ${reason}. Nothing was sent to the platform.`,
    retryAfterS: 60,
  });
}

const notStopped = (team: string | null) =>
  team === null
    ? 'Writes are not stopped for all teams; to resume those of one team, name it.'
    : `Writes of the team ${team} are not stopped by themselves; a stop for all teams is resumed without naming one.`;

const NOT_KNOWN =
  'Whether writes are stopped is not known at the moment: the store does not answer. Nothing was sent to the platform.';
