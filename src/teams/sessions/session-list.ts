/**
 * Which sessions there are: their names in some documents, with the sessions themselves where they were. A name without a
 * session is one that has ended.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';

/** Sign-ins at once seldom change the same one. */
const PARTS = 16;
/** Of a part: the next to end are forgotten beyond it, so that its text stays far below a document's limit. */
const MAX_NAMES = 2000;
/** A name stays so much longer than its session: the clock of another process may be ahead. */
const SLACK_MS = 24 * 3_600_000;
/** Longer than any session, and its slack. */
const KEPT_MS = 2 * SLACK_MS;

/** Of people and of others apart: who has a key must not push the sessions of people out of the list. */
const LISTS = ['people', 'others'] as const;

/** The document of a session, and when it ends at the latest. */
const Names = recordForm(Type.Array(Type.Tuple([Type.String(), Type.Number()])));

/** Of a damaged part nothing is left; the next sign-in writes it anew. */
const namesIn = (text: string) => Names.parse(text) ?? [];

interface ListedSession {
  readonly document: string;
  readonly isPerson: boolean;
  readonly endsAtMs: number;
}

/** Notes that there is a session. @throws StoreUnavailable */
export async function listSession(
  documents: Documents,
  { document, isPerson, endsAtMs }: ListedSession,
  nowMs: number,
): Promise<void> {
  const digest = document.split(':')[2] ?? '';
  const key = `sessions:${LISTS[isPerson ? 0 : 1]}:${digest.charCodeAt(0) % PARTS}`;
  await mergeDocument<RecordOf<typeof Names>>(documents, {
    ...{ key, ttlMs: KEPT_MS, decode: namesIn, encode: JSON.stringify },
    add(before) {
      const others = (before ?? []).filter(([name, endMs]) => endMs > nowMs - SLACK_MS && name !== document);
      return [...others, [document, endsAtMs] as const].sort(([, a], [, b]) => a - b).slice(-MAX_NAMES);
    },
  });
}

/** @returns names of the documents of sessions, of which some have ended. @throws StoreUnavailable */
export async function namesOfSessions(documents: Documents): Promise<readonly string[]> {
  const parts = LISTS.flatMap((list) =>
    Array.from({ length: PARTS }, (_, part) => `sessions:${list}:${part}`),
  );
  const texts = await Promise.all(parts.map((part) => documents.get(part)));
  return texts.flatMap((text) => (text === null ? [] : namesIn(text)).map(([document]) => document));
}
