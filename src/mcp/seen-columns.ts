/**
 * Columns that answers to a team had, by endpoint: what it was given itself, and nothing of other teams. What one replica
 * has seen is added to what all have: one document for each team.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { createLastUsed } from '../last-used.js';
import { type RecordOf, recordForm } from '../record.js';
import { mergeDocument } from '../store/merge-document.js';
import type { Documents } from '../store/port.js';

export interface SeenColumns {
  /** Never rejects: what the store does not take is noted with a later answer. */
  add(team: string, endpoint: string, columns: readonly string[]): Promise<void>;
  /** In the order in which they were seen. */
  of(team: string): Promise<ReadonlyMap<string, readonly string[]>>;
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

const keyOf = (team: string) => `mcp:columns:${team}`;

export interface SeenColumnsOptions {
  readonly documents: Documents;
  readonly logger: Logger;
}

export function createSeenColumns({ documents, logger }: SeenColumnsOptions): SeenColumns {
  const known = createLastUsed<Seen>(MAX_TEAMS);

  return {
    async add(team, endpoint, columns) {
      const before = known.get(team) ?? [];
      if (withColumns(before, endpoint, columns) === before) return;
      try {
        const all = await mergeDocument<Seen>(documents, {
          ...{ key: keyOf(team), ttlMs: KEPT_MS, decode: SeenForm.parse, encode: JSON.stringify },
          add: (stored) => withColumns(stored ?? [], endpoint, columns),
        });
        known.set(team, all ?? withColumns(before, endpoint, columns));
      } catch (error) {
        logger.debug({ err: error }, 'columns that were seen are not written down');
      }
    },
    async of(team) {
      const here = known.get(team) ?? [];
      try {
        const text = await documents.get(keyOf(team));
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
