/** The open sessions of console, explorer and command line, for operators. */
import type { Clock } from '../../lib/clock.js';
import type { Documents } from '../../store/port.js';
import { namesOfSessions } from './session-list.js';
import { endsAtMs, isOver, KIND_IN_NAME, type SessionKind, SessionRecord } from './session-records.js';

export interface OpenSession
  extends Pick<SessionRecord, 'holder' | 'isPerson' | 'team' | 'createdAtMs' | 'seenAtMs'> {
  /** Of no use to sign in: the beginning of the digest of its secret id. */
  readonly id: string;
  readonly kind: SessionKind;
  /** At the latest. */
  readonly endsAtMs: number;
  /** In the store. */
  readonly document: string;
}

const ID_CHARS = 16;

/** @returns the latest use first. @throws StoreUnavailable */
export async function listSessions(documents: Documents, clock: Pick<Clock, 'now'>): Promise<OpenSession[]> {
  const names = await namesOfSessions(documents);
  const found = await Promise.all(
    names.map(async (name) => openIn(name, await documents.get(name), clock.now())),
  );
  return found.flat().sort((a, b) => b.seenAtMs - a.seenAtMs);
}

function openIn(document: string, text: string | null, nowMs: number): OpenSession[] {
  const record = text === null ? null : SessionRecord.parse(text);
  if (record === null || isOver(record, nowMs)) return [];
  const [, kind = '', digest = ''] = KIND_IN_NAME.exec(document) ?? [];
  return [
    {
      ...record,
      id: `ses_${digest.slice(0, ID_CHARS)}`,
      kind: kind as SessionKind,
      endsAtMs: endsAtMs(record),
      document,
    },
  ];
}
