/**
 * Parameters of limited teams that `report.limitedTeams.undeclared: refuse` would refuse, as all replicas have seen them while
 * the setting is `observe`.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { FieldFault } from '../../errors.js';
import { clip, clipName } from '../../lib/http/problem.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';

/** By team, endpoint, parameter and message as JSON: the hour in which it was last seen, epoch milliseconds. */
const Seen = recordForm(
  Type.Object({ form: Type.Literal(1), lastMs: Type.Record(Type.String(), Type.Integer()) }),
);
type Seen = RecordOf<typeof Seen>;
const Id = recordForm(Type.Tuple([Type.String(), Type.String(), Type.String(), Type.String()]));

const KEY = 'undeclared-parameters';
const HOUR_MS = 3_600_000;
/** Time after which a parameter that was not sent again is forgotten. */
const KEPT_MS = 7 * 24 * HOUR_MS;
const FLUSH_EVERY_MS = 30_000;
const MAX_KEPT = 200;
/** Noted of one request: a body chooses how many there are. */
const MAX_NOTED = 20;

export function createSeenUndeclared({
  documents,
  now,
  logger,
}: {
  readonly documents: Documents;
  readonly now: () => number;
  readonly logger: Logger;
}) {
  const tallies = createSharedTallies<string, Seen>({
    documents,
    everyMs: FLUSH_EVERY_MS,
    ttlMs: KEPT_MS,
    decode: Seen.parse,
    encode: JSON.stringify,
    none: { form: 1, lastMs: {} },
    merge,
    documentOf: (key) => key,
    onAway: (error) => logger.debug({ err: error }, 'failed to store undeclared parameters; retrying'),
  });
  return {
    note(team: string, endpoint: string, faults: readonly FieldFault[]): void {
      const hourMs = Math.floor(now() / HOUR_MS) * HOUR_MS;
      const ids = faults
        .slice(0, MAX_NOTED)
        .map(({ param, message }) => JSON.stringify([team, clip(endpoint), clipName(param), clip(message)]));
      tallies.add(KEY, { form: 1, lastMs: Object.fromEntries(ids.map((id) => [id, hourMs])) });
    },
    /** Those of the last seven days, newest first. Never rejects. */
    async list() {
      const { lastMs } = await tallies.read(KEY).catch((error: unknown) => {
        logger.debug({ err: error }, 'failed to read undeclared parameters from the store');
        return tallies.atHand(KEY);
      });
      return Object.entries(lastMs).flatMap(([id, ms]) => {
        const read = Id.parse(id);
        if (read === null || ms < now() - KEPT_MS) return [];
        const [team, endpoint, parameter, message] = read;
        return [{ team, endpoint, parameter, message, lastSeen: new Date(ms).toISOString() }];
      });
    },
    flush: tallies.flush,
    close: tallies.close,
  };
}

/** The newest of both. */
function merge(one: Seen, other: Seen): Seen {
  const both = new Map(Object.entries(one.lastMs));
  for (const [id, ms] of Object.entries(other.lastMs)) both.set(id, Math.max(ms, both.get(id) ?? 0));
  const newest = [...both].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MAX_KEPT);
  return { ...one, lastMs: Object.fromEntries(newest) };
}
