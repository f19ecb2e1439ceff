/**
 * Columns that answers to a team had, by endpoint: what it was given itself under its present list of advertisers, and
 * nothing of other teams. What one replica has seen is added to what all have: one document for each team and list.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { digest } from '../../reports/query/platform-call.js';
import type { Documents } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { nameInLife } from '../../teams/team-life.js';

export interface SeenColumns {
  /** Never rejects: what the store does not take is noted with a later answer. */
  add(caller: Caller, endpoint: string, columns: readonly string[]): Promise<void>;
  /** In the order in which they were seen. */
  of(caller: Caller): Promise<ReadonlyMap<string, readonly string[]>>;
}

const MAX_TEAMS = 1000;
const MAX_REPORTS = 50;
/** Rows that each bring names of their own would take room without end. */
const MAX_COLUMNS = 300;
const MAX_NAME_CHARS = 200;
const KEPT_MS = 180 * 86_400_000;

const SeenForm = recordForm(
  Type.Array(Type.Object({ endpoint: Type.String(), columns: Type.Array(Type.String()) })),
);
type Seen = RecordOf<typeof SeenForm>;

/** Under which documents lay before lists were told apart. */
const formerKeyOf = ({ team }: Caller) => `mcp:columns:${team.id}`;

function keyOf({ team: { id, advertisers }, key: { life } }: Caller): string {
  const list = advertisers === '*' ? '*' : [...advertisers].sort((a, b) => a - b).join();
  return `mcp:columns:${nameInLife(id, life)}:${digest([list]).slice(0, 22)}`;
}

export interface SeenColumnsOptions {
  readonly documents: Documents;
  readonly logger: Logger;
}

export function createSeenColumns({ documents, logger }: SeenColumnsOptions): SeenColumns {
  const known = createLastUsed<Seen>(MAX_TEAMS);

  /** What was seen before lists were told apart goes over to the present list, once; of a later life it is another's. */
  async function adopt(caller: Caller): Promise<void> {
    const key = keyOf(caller);
    if (known.get(key) !== undefined || (caller.key.life ?? 0) > 0) return;
    const text = await documents.get(formerKeyOf(caller));
    if (text !== null && (await documents.replace(formerKeyOf(caller), text, null, 0)))
      await documents.create(key, text, KEPT_MS);
    known.set(key, []);
  }

  return {
    async add(caller, endpoint, columns) {
      const key = keyOf(caller);
      const before = known.get(key) ?? [];
      if (withColumns(before, endpoint, columns) === before) return;
      try {
        await adopt(caller);
        const all = await mergeDocument<Seen>(documents, {
          ...{ key, ttlMs: KEPT_MS, decode: SeenForm.parse, encode: JSON.stringify },
          add: (stored) => withColumns(stored ?? [], endpoint, columns),
        });
        known.set(key, all ?? withColumns(before, endpoint, columns));
      } catch (error) {
        logger.debug({ err: error }, 'columns that were seen are not written down');
      }
    },
    async of(caller) {
      const key = keyOf(caller);
      const here = known.get(key) ?? [];
      try {
        await adopt(caller);
        const text = await documents.get(key);
        const all = text === null ? here : (SeenForm.parse(text) ?? here);
        return new Map(all.map(({ endpoint, columns }) => [endpoint, columns]));
      } catch (error) {
        logger.debug({ err: error }, 'columns that were seen cannot be read');
        return new Map(here.map(({ endpoint, columns }) => [endpoint, columns]));
      }
    },
  };
}

/** @returns the same where nothing is new; of too many reports, those that were new last */
function withColumns(seen: Seen, endpoint: string, columns: readonly string[]): Seen {
  const report = seen.find((one) => one.endpoint === endpoint);
  const before = report?.columns ?? [];
  const short = columns.filter((name) => name.length <= MAX_NAME_CHARS);
  const after = [...new Set([...before, ...short])].slice(0, MAX_COLUMNS);
  if (after.length === before.length) return seen;
  const others = seen.filter((one) => one !== report);
  return [...others, { ...report, endpoint, columns: after }].slice(-MAX_REPORTS);
}
