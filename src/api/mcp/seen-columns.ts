/**
 * Columns of earlier answers to a team, by endpoint, under its current list of advertisers; nothing of other teams.
 * Replicas share one document per team and list.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { digest } from '../../reports/query/platform-call.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { nameInLife } from '../../teams/auth/team.js';

const MAX_REPORTS = 50;
/** Bounds the document if each row has names of its own. */
const MAX_COLUMNS = 300;
const MAX_NAME_CHARS = 200;
const KEPT_MS = 180 * 86_400_000;

const SeenForm = recordForm(
  Type.Array(Type.Object({ endpoint: Type.String(), columns: Type.Array(Type.String()) })),
);
type Seen = RecordOf<typeof SeenForm>;

function keyOf({ team: { id, advertisers }, key: { life } }: Caller): string {
  const list = advertisers === '*' ? '*' : [...advertisers].sort((a, b) => a - b).join();
  return `mcp:columns:${nameInLife(id, life)}:${digest([list]).slice(0, 22)}`;
}

export function createSeenColumns(documents: Documents, logger: Logger) {
  const onAway = (error: unknown) =>
    logger.debug({ err: error }, 'failed to share the columns that were seen');
  const tallies = createSharedTallies<Caller, Seen>({
    documents,
    everyMs: null,
    ttlMs: KEPT_MS,
    decode: SeenForm.parse,
    encode: JSON.stringify,
    documentOf: keyOf,
    none: [],
    onAway,
    merge: (one, other) =>
      other.reduce((sum, { endpoint, columns }) => withColumns(sum, endpoint, columns), one),
  });

  return {
    /** Never rejects: failed writes are repeated with a later answer. */
    async add(caller: Caller, endpoint: string, columns: readonly string[]): Promise<void> {
      const before = tallies.atHand(caller);
      if (withColumns(before, endpoint, columns) === before) return;
      tallies.add(caller, [{ endpoint, columns }]);
      await tallies.flush();
    },
    /** In the order seen. */
    async of(caller: Caller): Promise<ReadonlyMap<string, readonly string[]>> {
      const all = await tallies.read(caller).catch((error: unknown) => {
        onAway(error);
        return tallies.atHand(caller);
      });
      await tallies.flush();
      return new Map(all.map(({ endpoint, columns }) => [endpoint, columns]));
    },
  };
}

/** @returns the same object if nothing is new; beyond the limit the oldest reports are dropped */
function withColumns(seen: Seen, endpoint: string, columns: readonly string[]): Seen {
  const report = seen.find((one) => one.endpoint === endpoint);
  const before = report?.columns ?? [];
  const short = columns.filter((name) => name.length <= MAX_NAME_CHARS);
  const after = [...new Set([...before, ...short])].slice(0, MAX_COLUMNS);
  if (after.length === before.length) return seen;
  const others = seen.filter((one) => one !== report);
  return [...others, { ...report, endpoint, columns: after }].slice(-MAX_REPORTS);
}
