/**
 * Which sessions there are: their names in some documents, with the sessions themselves where they were. A name without a
 * session is one that has ended.
 */
import type { Documents } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';

/** Sign-ins at once seldom change the same one. */
const PARTS = 16;
/** Of a part: the next to end are forgotten beyond it, so that its text stays far below a document's limit. */
const MAX_NAMES = 2000;
/** Longer than any session. */
const KEPT_MS = 24 * 3_600_000;

type Names = readonly (readonly [document: string, endsAtMs: number])[];

const partOf = (document: string) => `sessions:${(document.split(':')[2] ?? '').charCodeAt(0) % PARTS}`;

const namesIn = (text: string): Names => JSON.parse(text);

/** Notes that there is a session. @throws StoreUnavailable */
export async function listSession(
  documents: Documents,
  document: string,
  endsAtMs: number,
  nowMs: number,
): Promise<void> {
  await mergeDocument<Names>(documents, {
    ...{ key: partOf(document), ttlMs: KEPT_MS, decode: namesIn, encode: JSON.stringify },
    add(before) {
      const others = (before ?? []).filter(([name, endMs]) => endMs > nowMs && name !== document);
      return [...others, [document, endsAtMs] as const].sort(([, a], [, b]) => a - b).slice(-MAX_NAMES);
    },
  });
}

/** @returns names of the documents of sessions, of which some have ended. @throws StoreUnavailable */
export async function namesOfSessions(documents: Documents): Promise<readonly string[]> {
  const texts = await Promise.all(
    Array.from({ length: PARTS }, (_, part) => documents.get(`sessions:${part}`)),
  );
  return texts.flatMap((text) => (text === null ? [] : namesIn(text)).map(([document]) => document));
}
