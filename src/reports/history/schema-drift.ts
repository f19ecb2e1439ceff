/** Tells when the columns of a report change between two revisions of a day: once a change, not once a day. */

import type { Logger } from 'pino';
import { createLastUsed } from '../../lib/last-used.js';
import type { HistoryStore } from '../../store/history-port.js';
import { type SchemaChange, schemaChange } from '../rows/column-kinds.js';
import { type DayChange, dateOf } from './day-writes.js';
import { readContents } from './read.js';
import { believed, type Revision } from './revision.js';

export interface SchemaDriftOptions {
  readonly store: Pick<HistoryStore, 'contents'>;
  readonly onSchemaChange: (change: keyof SchemaChange, columns: number) => void;
  readonly logger: Logger;
}

/** A report, as the log names it. */
export interface Watched {
  readonly series: string;
  readonly endpoint?: string;
  /** Accounts that it names. */
  readonly asked: readonly string[];
}

/** @param changes days that were written. Never rejects. */
export type WatchSchema = (watched: Watched, changes: readonly DayChange[]) => Promise<void>;

const REMEMBERED = 10_000;

export function createWatchSchema({ store, onSchemaChange, logger }: SchemaDriftOptions): WatchSchema {
  const told = createLastUsed<true>(REMEMBERED);

  function tell({ series, endpoint, asked }: Watched, date: string, change: SchemaChange): void {
    const report = { endpoint, advertisers: asked, date };
    const { added, removed, retyped } = change;
    const name = `${series}|${JSON.stringify(change)}`;
    if (added.length + removed.length + retyped.length === 0 || told.has(name)) return;
    told.set(name, true);
    for (const kind of ['added', 'removed', 'retyped'] as const)
      if (change[kind].length > 0) onSchemaChange(kind, change[kind].length);
    if (removed.length + retyped.length === 0)
      logger.info({ ...report, added }, 'a report of the platform has new columns');
    else
      logger.warn(
        { ...report, ...change },
        'a report of the platform has lost columns, or columns hold texts where they held numbers: whoever reads them may have to be changed',
      );
  }

  return async (watched, changes) => {
    const drifted = new Map(
      changes.flatMap((change) => {
        const before = beforeOf(change);
        const [latest] = change.revisions.slice(-1);
        // What was compared once need not be read for each of its days.
        return before === null ? [] : [[`${before.schema} ${latest?.schema}`, { change, before }] as const];
      }),
    );
    if (drifted.size === 0) return;
    try {
      const pairs = [...drifted.values()];
      const wanted = pairs.map(({ change, before }) => ({ day: dateOf(change.entry), revision: before }));
      for (const [at, old] of (await readContents(store, watched.series, wanted)).entries()) {
        const { entry } = (pairs[at] as (typeof pairs)[number]).change;
        if (old !== null) tell(watched, dateOf(entry), schemaChange(old.header, entry.header));
      }
    } catch (error) {
      logger.debug({ err: error }, 'whether the columns of a report changed could not be told');
    }
  };
}

/** @returns the revision before a new one of other columns; null where there is none, or one of them has no rows to tell by */
function beforeOf({ kind, revisions }: DayChange): Revision | null {
  const latest = revisions.at(-1);
  if (kind !== 'appended' || latest === undefined) return null;
  const before = believed(revisions, latest.generation).at(-2);
  if (before === undefined || before.rowCount === 0 || latest.rowCount === 0) return null;
  return before.schema === latest.schema ? null : before;
}
