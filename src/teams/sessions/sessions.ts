/** Sessions of the pages for people: begun, found again by what a cookie shows, and ended. Kept in the store. */

import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { type Documents, type Quotas, StoreUnavailable } from '../../store/port.js';
import type { Arrival } from './arrival.js';
import {
  bind,
  csrfOf,
  endsAtMs,
  IDLE_MS,
  isOver,
  isSame,
  newSessionId,
  SessionRecord,
  sessionDocument,
} from './record.js';

export interface Session {
  readonly id: string;
  /** Name of the admin token, or id of the team's key. */
  readonly holder: string;
  readonly host: string;
  readonly origin: string;
  readonly csrf: string;
  readonly endsAtMs: number;
  /** Whether it was this that signed in: a token, or the stored hash of a key's secret. */
  binds(proof: string): boolean;
}

export interface Sessions {
  /** Name of its cookie. */
  readonly cookie: 'dgw_console' | 'dgw_explorer';
  /**
   * @param note told before anything is made; where it fails, nobody is signed in
   * @throws GatewayError `rate_limited` for a holder who signs in all the time; `not_ready`; whatever `note` throws
   */
  open(
    signIn: { readonly holder: string; readonly proof: string },
    from: Pick<Arrival, 'host' | 'ownOrigin'>,
    note?: () => Promise<void>,
  ): Promise<Session>;
  /** @throws GatewayError `invalid_session`; `not_ready` where that cannot be told */
  find(id: string): Promise<Session>;
  /** Dead here when it returns, and elsewhere within {@link MEMORY_MS}. @throws GatewayError `not_ready` */
  close(id: string): Promise<void>;
}

export interface SessionsOptions {
  readonly cookie: Sessions['cookie'];
  readonly store: { readonly documents: Documents; readonly quotas: Quotas };
  readonly clock: Clock;
}

/** A page asks for ten things at once; and what ends elsewhere ends here after so long. */
const MEMORY_MS = 500;
const MAX_REMEMBERED = 10_000;
/** How exactly the store knows when a session was last used. */
const TOUCH_MS = 60_000;
/** The store only collects garbage. */
const SLACK_MS = 2 * TOUCH_MS;
/** Sessions that one holder may begin: so whoever has a key cannot fill the room of all documents with them. */
const SIGN_INS = { capacity: 100, refillPerMs: 100 / 3_600_000, ttlMs: 3_600_000 };
/** Others may note its use meanwhile, each once in {@link TOUCH_MS}. */
const CLOSE_TRIES = 10;

interface Remembered {
  readonly record: Promise<SessionRecord | null>;
  readonly atMs: number;
}

export function createSessions({ cookie, store, clock }: SessionsOptions): Sessions {
  const { documents, quotas } = store;
  const memory = createLastUsed<Remembered>(MAX_REMEMBERED);

  function remember(document: string, record: Promise<SessionRecord | null>): Promise<SessionRecord | null> {
    const remembered = { record, atMs: clock.monotonicMs() };
    memory.set(document, remembered);
    record.catch(() => {
      if (memory.get(document) === remembered) memory.delete(document);
    });
    return record;
  }

  function look(document: string): Promise<SessionRecord | null> {
    const known = memory.get(document);
    if (known !== undefined && clock.monotonicMs() - known.atMs < MEMORY_MS) return known.record;
    return remember(document, unlessAway(read(documents, document, clock.now())));
  }

  async function charge(holder: string): Promise<void> {
    const bucket = `${cookie}:${holder}`;
    const { granted, nextInMs } = await quotas.take(bucket, { ...SIGN_INS, want: 1, nowMs: clock.now() });
    if (granted > 0) return;
    throw new GatewayError('rate_limited', {
      detail: 'Too many sessions were begun with this key or token within the last hour.',
      help: 'Wait for as many seconds as retry-after says, or go on with a session that there is.',
      retryAfterS: Math.max(1, Math.ceil(nextInMs / 1000)),
    });
  }

  return {
    cookie,
    async open({ holder, proof }, { host, ownOrigin }, note) {
      await unlessAway(charge(holder));
      await note?.();
      const id = newSessionId();
      const nowMs = clock.now();
      const record: SessionRecord = {
        ...{ holder, bound: bind(id, proof), host, origin: ownOrigin },
        ...{ createdAtMs: nowMs, seenAtMs: nowMs },
      };
      const text = JSON.stringify(record);
      await unlessAway(documents.create(sessionDocument(cookie, id), text, keptForMs(record, nowMs)));
      return sessionOf(id, record);
    },
    async find(id) {
      const record = await look(sessionDocument(cookie, id));
      if (record === null) throw invalidSession(cookie);
      return sessionOf(id, record);
    },
    async close(id) {
      const document = sessionDocument(cookie, id);
      await unlessAway(remove(documents, document));
      void remember(document, Promise.resolve(null));
    },
  };
}

const REALMS: Readonly<Record<Sessions['cookie'], string>> = {
  dgw_console: 'dsp-gateway admin',
  dgw_explorer: 'dsp-gateway',
};

/** @param detail instead of the code's meaning */
export function invalidSession(cookie: Sessions['cookie'], detail?: string): GatewayError {
  return new GatewayError('invalid_session', {
    headers: { 'www-authenticate': `Bearer realm="${REALMS[cookie]}"` },
    ...(detail === undefined ? {} : { detail }),
  });
}

/** What is stored, with this use of it noted now and then. */
async function read(documents: Documents, document: string, nowMs: number): Promise<SessionRecord | null> {
  const text = await documents.get(document);
  // One that this release cannot read has ended: its holder signs in anew.
  const record = text === null ? null : SessionRecord.parse(text);
  if (text === null || record === null || isOver(record, nowMs)) return null;
  if (nowMs - record.seenAtMs < TOUCH_MS) return record;
  const seen: SessionRecord = { ...record, seenAtMs: nowMs };
  try {
    const isNoted = await documents.replace(document, text, JSON.stringify(seen), keptForMs(seen, nowMs));
    return isNoted ? seen : record;
  } catch (error) {
    // It was checked all the same; what is lost is a minute of its idle time.
    if (error instanceof StoreUnavailable) return record;
    throw error;
  }
}

async function remove(documents: Documents, document: string): Promise<void> {
  for (let tries = 1; tries <= CLOSE_TRIES; tries += 1) {
    const text = await documents.get(document);
    if (text === null || (await documents.replace(document, text, null, 1))) return;
  }
  throw new StoreUnavailable('a session was noted as used by others each time it was to be ended');
}

function keptForMs(record: SessionRecord, nowMs: number): number {
  return Math.max(1, Math.min(endsAtMs(record) - nowMs, IDLE_MS + SLACK_MS));
}

function sessionOf(id: string, record: SessionRecord): Session {
  const { holder, host, origin, bound } = record;
  return {
    ...{ id, holder, host, origin },
    csrf: csrfOf(id),
    endsAtMs: endsAtMs(record),
    binds: (proof) => isSame(bound, bind(id, proof)),
  };
}

/** @throws GatewayError `not_ready` */
async function unlessAway<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const isFull = error.why === 'no-room';
    throw new GatewayError('not_ready', {
      detail: isFull
        ? 'The store has no room left for another session, so nobody was signed in.'
        : 'The store that sessions are kept in does not answer, so no session can be begun, checked or ended.',
      help: isFull
        ? 'Tell your operator, who can raise redis.idempotencyMaxBytes or free the disk of the embedded store; calls with a key or token need no room.'
        : 'Repeat the call in a few seconds; calls with a key or token in a header need no session.',
      retryAfterS: isFull ? 60 : 5,
      cause: error,
    });
  }
}
