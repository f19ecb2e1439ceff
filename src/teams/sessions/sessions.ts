/**
 * Sessions of console and explorer, in the store. While it is away, those of the console can read, see kept-sessions.ts.
 *
 * The store has only a digest of a session's id, and a MAC under the id of the token or key that signed in. So a copy of the
 * store opens no session and confirms no guess, even of a short token.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type Documents, type Store, StoreUnavailable, whenAway } from '../../store/port.js';
import { RegistryLost } from '../../store/registry/succession.js';
import { createKeptSessions } from './kept-sessions.js';

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
/** Limit of sign-ins per holder, so that no key can fill the store. */
const SIGN_INS = { capacity: 100, refillPerMs: 100 / 3_600_000, ttlMs: 3_600_000 };
/** Other processes may update its last use meanwhile, each once in {@link TOUCH_MS}. */
const CLOSE_TRIES = 10;

export interface Session {
  readonly id: string;
  /** Name of the admin token, or id of the team's key, or of the person. */
  readonly holder: string;
  /** Whether the holder is a person. */
  readonly isPerson: boolean;
  /** The team as which a person has chosen to act. */
  readonly team: string | null;
  readonly host: string;
  readonly origin: string;
  /** Required with writes. Only the page knows it, as it is in an answer and not in a cookie. */
  readonly csrf: string;
  readonly endsAtMs: number;
  /** Why it may only read: the store is away, and this process accepts it from memory; null: it is in the store. */
  readonly readOnly: string | null;
  /** Whether this proof signed in: a token, or the stored hash of a key's secret. */
  binds(proof: string): boolean;
}

export type SessionCookie = 'dgw_console' | 'dgw_explorer';
export type Sessions = ReturnType<typeof createSessions>;

const SessionRecord = recordForm(
  Type.Object({
    /** Name of the admin token, or id of the team's key, or of the person. */
    holder: Type.String(),
    isPerson: Type.Optional(Type.Literal(true)),
    team: Type.Optional(Type.String()),
    /** MAC of the credential that signed in, by {@link bind}. */
    bound: Type.String(),
    /** Host and origin of the browser at sign-in. */
    host: Type.String(),
    origin: Type.String(),
    createdAtMs: Type.Number(),
    /** The last request, with a resolution of a minute. */
    seenAtMs: Type.Number(),
  }),
);
type SessionRecord = RecordOf<typeof SessionRecord>;

/** @param maxStaleMs how long sessions are accepted without the store, to read; null: not at all */
export function createSessions(
  cookie: SessionCookie,
  store: Pick<Store, 'documents' | 'quotas' | 'kind'>,
  clock: Clock,
  maxStaleMs: number | null = null,
) {
  const kept = maxStaleMs === null ? null : createKeptSessions<SessionRecord>(maxStaleMs, clock);
  const records = createRecords(cookie, store.documents, kept, clock);
  const storeName = store.kind === 'redis' ? 'Redis' : 'The embedded store';
  const readOnly = `${storeName} is unavailable, so this session can only read until it is back. ${ON_THE_MACHINE}`;

  /** @throws GatewayError `not_ready` */
  const unlessAway = <T>(work: Promise<T>): Promise<T> =>
    work.catch(
      whenAway((cause): never => {
        throw notReady(cookie, storeName, cause);
      }),
    );

  return {
    cookie,
    /**
     * @param note called before the session is stored; if it fails, it is not
     * @throws GatewayError `rate_limited` after too many sign-ins; `not_ready`; errors of `note`
     */
    async open(
      { proof, ...by }: SignedInBy,
      { host, ownOrigin: origin }: { readonly host: string; readonly ownOrigin: string },
      note: () => Promise<void> = async () => {},
    ): Promise<Session> {
      const id = randomBuffer(32).toString('base64url');
      const nowMs = clock.now();
      const times = { createdAtMs: nowMs, seenAtMs: nowMs };
      const record: SessionRecord = { ...by, bound: bind(id, proof), host, origin, ...times };
      try {
        await chargeSignIn(store, `${cookie}:${by.holder}`, nowMs);
        await records.store(id, record, note);
        return sessionOf(id, record, null);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || error instanceof RegistryLost) throw error;
        if (kept === null || error.why === 'no-room') throw notReady(cookie, storeName, error);
        kept.opened.set(sessionDocument(cookie, id), { kept: record, note });
        return sessionOf(id, record, readOnly);
      }
    },
    /** @throws GatewayError `invalid_session`; `not_ready` if that is unknown */
    async find(id: string): Promise<Session> {
      const { record, isKept } = await unlessAway(records.find(id));
      if (record === null || isOver(record, clock.now())) throw invalidSession(cookie);
      return sessionOf(id, record, isKept ? readOnly : null);
    },
    /** A person acts as another team. @throws GatewayError `invalid_session`; `not_ready` */
    async choose(id: string, team: string): Promise<Session> {
      const record = await unlessAway(records.choose(id, team));
      if (record === null) throw invalidSession(cookie);
      return sessionOf(id, record, null);
    },
    /** Ended here on return, elsewhere within {@link MEMORY_MS}. @throws GatewayError `not_ready` */
    close: (id: string): Promise<void> => unlessAway(records.close(id)),
  };
}

interface SignedInBy extends Pick<SessionRecord, 'holder' | 'isPerson' | 'team'> {
  /** What must still be valid: a token, or the stored hash of a key's secret; of a person, the holder. */
  readonly proof: string;
}

async function chargeSignIn({ quotas }: Pick<Store, 'quotas'>, key: string, nowMs: number): Promise<void> {
  const { granted, nextInMs } = await quotas.take(key, { ...SIGN_INS, want: 1, nowMs });
  if (granted > 0) return;
  throw new GatewayError('rate_limited', {
    detail: 'This key or token has opened too many sessions in the last hour.',
    help: 'Wait for the seconds in retry-after, or use an open session.',
    retryAfterS: Math.max(1, Math.ceil(nextInMs / 1000)),
  });
}

/** The records of sessions in the store and, while that is away, in memory. @throws StoreUnavailable */
function createRecords(
  cookie: SessionCookie,
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
    const text = JSON.stringify(record);
    await documents.create(sessionDocument(cookie, id), text, keptForMs(record, clock.now()));
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
    async close(id: string): Promise<void> {
      const document = sessionDocument(cookie, id);
      const isOwn = kept?.forget(document) === true;
      const removing = change(documents, document, () => null, clock.now());
      // One that is not stored has ended now.
      await (isOwn ? removing.catch(whenAway(() => {})) : removing);
      void remember(document, Promise.resolve(null));
    },
  };
}

const REALMS: Readonly<Record<SessionCookie, string>> = {
  dgw_console: 'dsp-gateway admin',
  dgw_explorer: 'dsp-gateway',
};

/** @param credential in the headers, which precludes a session */
export function notSignedIn(credential: 'key' | 'token'): never {
  throw new GatewayError('not_found', {
    detail: `The request has a ${credential} in its headers, so it has no session.`,
    help: `Omit the ${credential} to use the session cookie.`,
  });
}

/** @param detail default: the code's text */
export function invalidSession(cookie: SessionCookie, detail?: string): GatewayError {
  return new GatewayError('invalid_session', {
    headers: { 'www-authenticate': `Bearer realm="${REALMS[cookie]}"` },
    ...(detail === undefined ? {} : { detail }),
  });
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

/** Name of the document in the store. */
export function sessionDocument(cookie: SessionCookie, id: string): string {
  return `session:${cookie}:${hash('sha256', id, 'base64url')}`;
}

const endsAtMs = ({ createdAtMs, isPerson }: SessionRecord) =>
  createdAtMs + (isPerson === true ? PERSON_LIFETIME_MS : LIFETIME_MS);

function isOver(record: SessionRecord, nowMs: number): boolean {
  return !(nowMs < endsAtMs(record) && nowMs < record.seenAtMs + IDLE_MS);
}

function keptForMs(record: SessionRecord, nowMs: number): number {
  return Math.max(1, Math.min(endsAtMs(record) - nowMs, IDLE_MS + SLACK_MS));
}

function sessionOf(id: string, record: SessionRecord, readOnly: string | null): Session {
  const { holder, isPerson = false, team = null, host, origin, bound } = record;
  return {
    id,
    holder,
    isPerson,
    team,
    host,
    origin,
    readOnly,
    csrf: mac(id, 'csrf'),
    endsAtMs: endsAtMs(record),
    binds: (proof) => isSame(bound, bind(id, proof)),
  };
}

function bind(id: string, proof: string): string {
  return mac(id, `holder ${proof}`);
}

function mac(id: string, text: string): string {
  return createHmac('sha256', id).update(text).digest('base64url');
}

/** In constant time for texts of one length. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const ON_THE_MACHINE = 'On the machine: dsp-gateway status.';

/** @param storeName begins the sentence */
function notReady(cookie: SessionCookie, storeName: string, cause: StoreUnavailable): GatewayError {
  const isFull = cause.why === 'no-room';
  return new GatewayError('not_ready', {
    detail: isFull
      ? `${storeName} has no room for another session.`
      : `${storeName} is unavailable, so this page cannot check your sign-in. Reports are still served.`,
    help: isFull
      ? 'Call with a key or token in a header, or ask your operator to make room: redis.idempotencyMaxBytes, or the disk of the embedded store.'
      : cookie === 'dgw_console'
        ? ON_THE_MACHINE
        : 'Try again in a minute; your operator sees the cause with dsp-gateway status.',
    retryAfterS: isFull ? 60 : 5,
    cause,
  });
}

/** A session that may only read may change nothing. @throws GatewayError `not_ready` */
export function refuseReadOnly({ readOnly }: Pick<Session, 'readOnly'>): void {
  if (readOnly === null) return;
  throw new GatewayError('not_ready', {
    detail: `Nothing was changed: ${readOnly}`,
    help: 'Try again when the store is back, or call with a token in a header.',
    retryAfterS: 5,
  });
}
