/**
 * Sessions of console, explorer and command line, in the store. While it is away, those of console and command line can read,
 * see kept-sessions.ts.
 *
 * The store has only a digest of a session's id, and a MAC under the id of the token or key that signed in. So a copy of the
 * store opens no session and confirms no guess, even of a short token.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { span } from '../../lib/words.js';
import { type Store, StoreUnavailable, whenAway } from '../../store/port.js';
import { RegistryLost } from '../../store/registry/succession.js';
import { createKeptSessions } from './kept-sessions.js';
import {
  createRecords,
  endsAtMs,
  isOver,
  type SessionKind,
  type SessionRecord,
  sessionDocument,
} from './session-records.js';

/** Limit of sign-ins per holder, so that no key can fill the store. */
const SIGN_INS = { capacity: 100, refillPerMs: 100 / 3_600_000, ttlMs: 3_600_000 };

export interface Session {
  readonly id: string;
  /** Its name in the store, with which nobody signs in. */
  readonly document: string;
  /** Name of the admin token, or id of the team's key, or of the person. */
  readonly holder: string;
  /** Whether the holder is a person. */
  readonly isPerson: boolean;
  /** Whether it is one of the command line, sent in a header. */
  readonly byHeader: boolean;
  /** The team as which a person has chosen to act. */
  readonly team: string | null;
  readonly host: string;
  readonly origin: string;
  /** Required with writes. Only the page knows it, as it is in an answer and not in a cookie. */
  readonly csrf: string;
  readonly sinceMs: number;
  readonly endsAtMs: number;
  /** Why it may only read: the store is away, and this process accepts it from memory; null: it is in the store. */
  readonly readOnly: string | null;
  /** Whether this proof signed in: a token, or the stored hash of a key's secret. */
  binds(proof: string): boolean;
}

export type Sessions = ReturnType<typeof createSessions>;

/** @param maxStaleMs how long sessions are accepted without the store, to read; null: not at all */
export function createSessions(
  cookie: SessionKind,
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
      { proof, sinceMs, ...by }: SignedInBy,
      { host, ownOrigin: origin }: { readonly host: string; readonly ownOrigin: string },
      note: () => Promise<void> = async () => {},
    ): Promise<Session> {
      const id = randomBuffer(32).toString('base64url');
      const nowMs = clock.now();
      const times = { createdAtMs: sinceMs ?? nowMs, seenAtMs: nowMs };
      const record: SessionRecord = { ...by, bound: bind(id, proof), host, origin, ...times };
      try {
        await chargeSignIn(store, `${cookie}:${by.holder}`, nowMs);
        await records.store(id, record, note);
        return sessionOf(cookie, id, record, null);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || error instanceof RegistryLost) throw error;
        if (kept === null || error.why === 'no-room') throw notReady(cookie, storeName, error);
        kept.opened.set(sessionDocument(cookie, id), { kept: record, note });
        return sessionOf(cookie, id, record, readOnly);
      }
    },
    /** @throws GatewayError `invalid_session`; `not_ready` if that is unknown */
    async find(id: string): Promise<Session> {
      const { record, isKept } = await unlessAway(records.find(id));
      if (record === null || isOver(record, clock.now())) throw invalidSession(cookie);
      return sessionOf(cookie, id, record, isKept ? readOnly : null);
    },
    /** A person acts as another team. @throws GatewayError `invalid_session`; `not_ready` */
    async choose(id: string, team: string): Promise<Session> {
      const record = await unlessAway(records.choose(id, team));
      if (record === null) throw invalidSession(cookie);
      return sessionOf(cookie, id, record, null);
    },
    /** Ended here on return, elsewhere within half a second. @throws GatewayError `not_ready` */
    close: ({ document }: Pick<Session, 'document'>): Promise<void> => unlessAway(records.close(document)),
  };
}

/** 256 random bits in base64url. */
const COMMAND_LINE_ID = /^dgs_([A-Za-z0-9_-]{43})$/;

/** As the command line sends it. */
export const commandLineToken = ({ id }: Session): string => `dgs_${id}`;

/** @returns the session's id in {@link commandLineToken}; null: it is something else */
export const commandLineId = (text: string): string | null => COMMAND_LINE_ID.exec(text)?.[1] ?? null;

interface SignedInBy extends Pick<SessionRecord, 'holder' | 'isPerson' | 'team' | 'byHeader'> {
  /** What must still be valid: a token, or the stored hash of a key's secret; of a person, the holder. */
  readonly proof: string;
  /** When the person signed in, if another session followed from that; default: now. */
  readonly sinceMs?: number;
}

async function chargeSignIn({ quotas }: Pick<Store, 'quotas'>, key: string, nowMs: number): Promise<void> {
  const { granted, nextInMs } = await quotas.take(key, { ...SIGN_INS, want: 1, nowMs });
  if (granted > 0) return;
  const retryAfterS = Math.max(1, Math.ceil(nextInMs / 1000));
  throw new GatewayError('rate_limited', {
    detail: 'This key or token has opened too many sessions in the last hour.',
    help: `Wait for ${span(retryAfterS)}, or use an open session.`,
    retryAfterS,
  });
}

const REALMS: Readonly<Record<SessionKind, string>> = {
  dgw_console: 'dsp-gateway admin',
  dgw_explorer: 'dsp-gateway',
  dgw_cli: 'dsp-gateway admin',
};

/** @param credential in the headers, which precludes a session */
export function notSignedIn(credential: 'key' | 'token'): never {
  throw new GatewayError('not_found', {
    detail: `The request has a ${credential} in its headers, so it has no session.`,
    help: `Omit the ${credential} to use the session cookie.`,
  });
}

/** @param words default: the code's */
export function invalidSession(
  cookie: SessionKind,
  words: { readonly detail?: string; readonly help?: string } = {},
): GatewayError {
  const headers = { 'www-authenticate': `Bearer realm="${REALMS[cookie]}"` };
  return new GatewayError('invalid_session', { headers, ...words });
}

/** Of a person, whom another sign-in alone does not help. @param what e.g. `act as any team` */
export function noLongerAllowed(cookie: SessionKind, what: string): GatewayError {
  return invalidSession(cookie, {
    detail: `This company account may no longer ${what}.`,
    help: 'Ask your operator which rule of auth.oidc.people is for you, then sign in again.',
  });
}

function sessionOf(cookie: SessionKind, id: string, record: SessionRecord, readOnly: string | null): Session {
  const { holder, isPerson = false, byHeader = false, team = null, host, origin, bound } = record;
  return {
    id,
    document: sessionDocument(cookie, id),
    holder,
    isPerson,
    byHeader,
    team,
    host,
    origin,
    readOnly,
    csrf: mac(id, 'csrf'),
    sinceMs: record.createdAtMs,
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
function notReady(cookie: SessionKind, storeName: string, cause: StoreUnavailable): GatewayError {
  const isFull = cause.why === 'no-room';
  return new GatewayError('not_ready', {
    detail: isFull
      ? `${storeName} has no room for another session.`
      : `${storeName} is unavailable, so your sign-in cannot be checked. Reports are still served.`,
    help: isFull
      ? 'Call with a key or token in a header, or ask your operator to make room: redis.idempotencyMaxBytes, or the disk of the embedded store.'
      : cookie === 'dgw_explorer'
        ? 'Try again in a minute; your operator sees the cause with dsp-gateway status.'
        : ON_THE_MACHINE,
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
