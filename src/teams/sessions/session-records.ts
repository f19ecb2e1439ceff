/** Records of sessions in the store, and in memory while that is away. */
import { hash } from 'node:crypto';
import Type from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type Documents, StoreUnavailable, whenAway } from '../../store/port.js';
import type { createKeptSessions } from './kept-sessions.js';
import { listSession } from './session-list.js';

/** The cookies of console and explorer, and the sessions of the command line, which has none. */
export type SessionKind = 'dgw_console' | 'dgw_explorer' | 'dgw_cli';

/** Maximum lifetime, by a token or key. */
export const LIFETIME_MS = 12 * 3_600_000;
/** By a company account: rights that the provider took away end with it. */
export const PERSON_LIFETIME_MS = 8 * 3_600_000;
/** Maximum time without a request. */
const IDLE_MS = 3_600_000;
/** Cache time of checked sessions, as a page sends ten requests at once. A session ended elsewhere ends here after it. */
const MEMORY_MS = 500;
const MAX_REMEMBERED = 10_000;
/** Resolution of the stored last use. */
const TOUCH_MS = 60_000;
/** Expiry in the store only collects garbage. */
const SLACK_MS = 2 * TOUCH_MS;

/** Other processes may update its last use meanwhile, each once in {@link TOUCH_MS}. */
const CLOSE_TRIES = 10;

export const SessionRecord = recordForm(
  Type.Object({
    /** Name of the admin token, or id of the team's key, or of the person. */
    holder: Type.String(),
    isPerson: Type.Optional(Type.Literal(true)),
    team: Type.Optional(Type.String()),
    /** Of the command line: it is sent in a header, and host and origin are ''. */
    byHeader: Type.Optional(Type.Literal(true)),
    /** MAC of the credential that signed in, by `bind`. */
    bound: Type.String(),
    /** Host and origin of the browser at sign-in. */
    host: Type.String(),
    origin: Type.String(),
    createdAtMs: Type.Number(),
    /** The last request, with a resolution of a minute. */
    seenAtMs: Type.Number(),
  }),
);
export type SessionRecord = RecordOf<typeof SessionRecord>;

/** The records of sessions in the store and, while that is away, in memory. @throws StoreUnavailable */
export function createRecords(
  cookie: SessionKind,
  documents: Documents,
  kept: ReturnType<typeof createKeptSessions<SessionRecord>> | null,
  clock: Clock,
) {
  const memory = createLastUsed<{ readonly record: Promise<SessionRecord | null>; readonly atMs: number }>(
    MAX_REMEMBERED,
  );

  function remember(document: string, record: Promise<SessionRecord | null>): Promise<SessionRecord | null> {
    const remembered = { record, atMs: clock.monotonicMs() };
    memory.set(document, remembered);
    record.catch(() => {
      if (memory.get(document) === remembered) memory.delete(document);
    });
    return record;
  }

  async function store(id: string, record: SessionRecord, note: () => Promise<void>): Promise<void> {
    await note();
    const document = sessionDocument(cookie, id);
    // First: a session that nobody can list could not be ended.
    const isPerson = record.isPerson === true;
    await listSession(documents, { document, isPerson, endsAtMs: endsAtMs(record) }, clock.now());
    const text = JSON.stringify(record);
    await documents.create(document, text, keptForMs(record, clock.now()));
  }

  /** A session that was opened here while the store was away is stored as soon as that answers. */
  async function look(id: string, document: string): Promise<SessionRecord | null> {
    let record = await read(documents, document, clock.now());
    const own = kept?.opened.get(document);
    if (record === null && own !== undefined && !isOver(own.kept, clock.now())) {
      await store(id, own.kept, own.note);
      record = own.kept;
    }
    kept?.answered(document, record);
    return record;
  }

  return {
    store,
    /** @returns null: there is none */
    async find(id: string): Promise<{ readonly record: SessionRecord | null; readonly isKept: boolean }> {
      const document = sessionDocument(cookie, id);
      const known = memory.get(document);
      const isFresh = known !== undefined && clock.monotonicMs() - known.atMs < MEMORY_MS;
      try {
        return {
          record: await (isFresh ? known.record : remember(document, look(id, document))),
          isKept: false,
        };
      } catch (error) {
        const record = error instanceof StoreUnavailable ? (kept?.recall(document) ?? null) : null;
        if (record === null) throw error;
        return { record, isKept: true };
      }
    },
    async choose(id: string, team: string): Promise<SessionRecord | null> {
      const document = sessionDocument(cookie, id);
      const next = await change(documents, document, (before) => before && { ...before, team }, clock.now());
      void remember(document, Promise.resolve(next));
      return next;
    },
    async close(document: string): Promise<void> {
      const isOwn = kept?.forget(document) === true;
      const removing = endSession(documents, document, clock);
      // One that is not stored has ended now.
      await (isOwn ? removing.catch(whenAway(() => {})) : removing);
      void remember(document, Promise.resolve(null));
    },
  };
}

/** Reads a session, and updates its last use once a minute. */
async function read(documents: Documents, document: string, nowMs: number): Promise<SessionRecord | null> {
  const text = await documents.get(document);
  // A session of an unknown format has ended.
  const record = text === null ? null : SessionRecord.parse(text);
  if (text === null || record === null || isOver(record, nowMs)) return null;
  if (nowMs - record.seenAtMs < TOUCH_MS) return record;
  const seen: SessionRecord = { ...record, seenAtMs: nowMs };
  const isNoted = await documents
    .replace(document, text, JSON.stringify(seen), keptForMs(seen, nowMs))
    // The session is valid; only a minute of its idle time is lost.
    .catch(whenAway(() => false));
  return isNoted ? seen : record;
}

/**
 * Changes a session that other processes may note the use of meanwhile.
 * @param after null deletes it. @returns the record after it; null: there is none
 */
async function change(
  documents: Documents,
  document: string,
  after: (before: SessionRecord | null) => SessionRecord | null,
  nowMs: number,
): Promise<SessionRecord | null> {
  for (let tries = 1; tries <= CLOSE_TRIES; tries += 1) {
    const text = await documents.get(document);
    if (text === null) return null;
    const next = after(SessionRecord.parse(text));
    const [written, ttlMs] = next === null ? [null, 1] : [JSON.stringify(next), keptForMs(next, nowMs)];
    if (await documents.replace(document, text, written, ttlMs)) return next;
  }
  throw new StoreUnavailable('other processes noted the use of a session each time it was to be changed');
}

/** Other processes accept it for half a second. @throws StoreUnavailable */
export async function endSession(
  documents: Documents,
  document: string,
  clock: Pick<Clock, 'now'>,
): Promise<void> {
  await change(documents, document, () => null, clock.now());
}

/** Kind and digest in {@link sessionDocument}. */
export const KIND_IN_NAME = /^session:(\w+):([\w-]+)$/;

/** Name of the document in the store. */
export function sessionDocument(cookie: SessionKind, id: string): string {
  return `session:${cookie}:${hash('sha256', id, 'base64url')}`;
}

export const endsAtMs = ({ createdAtMs, isPerson }: SessionRecord) =>
  createdAtMs + (isPerson === true ? PERSON_LIFETIME_MS : LIFETIME_MS);

/** A page is left open and forgotten; a command line is used now and then. */
const idleMs = ({ byHeader }: SessionRecord) => (byHeader === true ? PERSON_LIFETIME_MS : IDLE_MS);

export function isOver(record: SessionRecord, nowMs: number): boolean {
  return !(nowMs < endsAtMs(record) && nowMs < record.seenAtMs + idleMs(record));
}

function keptForMs(record: SessionRecord, nowMs: number): number {
  return Math.max(1, Math.min(endsAtMs(record) - nowMs, idleMs(record) + SLACK_MS));
}
