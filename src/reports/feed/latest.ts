/** The last changes of numbers that were known before, over all reports: for operators. */

import type { Changes } from '../../store/changes-port.js';
import { type DaysEntry, decodeEntry } from './entry.js';
import type { MakeEntry, Message } from './messages.js';

/** Entries that are looked at: most of them may tell of new days. */
const LOOKED_MAX = 2000;
const SHOWN: ReadonlySet<string> = new Set<DaysEntry['changes'][number]['kind']>([
  'restated',
  'void',
  'erased',
]);

/**
 * @param limit of messages
 * @returns messages as JSON, the newest first
 * @throws StoreUnavailable
 */
export async function latestChanges(
  changes: Pick<Changes, 'newest'>,
  open: MakeEntry['open'],
  limit: number,
): Promise<readonly string[]> {
  const { entries } = await changes.newest(LOOKED_MAX);
  const found: string[] = [];
  for (const { text } of entries) {
    const entry = decodeEntry(text);
    if (entry?.type !== 'days' || !entry.changes.some(({ kind }) => SHOWN.has(kind))) continue;
    const messages = await (await open(text)).messages();
    // A message for each change, in their order.
    const shown = messages.filter((_, at) => SHOWN.has(entry.changes[at]?.kind ?? '')).reverse();
    found.push(...shown.map(({ head, tail }: Message) => head + tail));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}
