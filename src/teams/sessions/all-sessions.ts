/** The open sessions of console, explorer and command line, for operators. */
import type { Clock } from '../../lib/clock.js';
import type { Documents } from '../../store/port.js';
import { namesOfSessions } from './session-list.js';
import { endsAtMs, isOver, KIND_IN_NAME, type SessionKind, SessionRecord } from './session-records.js';

export type OpenSession = Awaited<ReturnType<typeof listSessions>>[number];

const ID_CHARS = 16;

/** @returns the latest use first. @throws StoreUnavailable */
export async function listSessions(documents: Documents, clock: Pick<Clock, 'now'>) {
  const names = await namesOfSessions(documents);
  const found = await Promise.all(
    names.map(async (name) => openIn(name, await documents.get(name), clock.now())),
  );
  return found.flat().sort((a, b) => b.seenAtMs - a.seenAtMs);
}

function openIn(document: string, text: string | null, nowMs: number) {
  const record = text === null ? null : SessionRecord.parse(text);
  if (record === null || isOver(record, nowMs)) return [];
  const [, kind = '', digest = ''] = KIND_IN_NAME.exec(document) ?? [];
  // Of no use to sign in: the beginning of the digest of its secret id.
  const id = `ses_${digest.slice(0, ID_CHARS)}`;
  return [{ ...record, id, kind: kind as SessionKind, endsAtMs: endsAtMs(record), document }];
}
