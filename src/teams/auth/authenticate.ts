/** First stage of every data-plane request: whose key is this, or whose session? */

import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Directory, type FoundKey, isWellFormedApiKey } from './directory.js';
import type { KeyRecord } from './key-record.js';
import type { Team } from './team.js';

export interface Caller {
  readonly team: Team;
  readonly key: KeyRecord;
}

/** The two headers that may carry a key, each with all values that were sent. */
export interface KeyHeaders {
  readonly authorization: readonly string[];
  readonly apiKey: readonly string[];
  /** Of a request without either: its session, or why there is none. */
  readonly session?: SignedIn | GatewayError;
}

/** A session: a key that was shown before. */
interface SignedIn {
  /** The key's id. */
  readonly holder: string;
  /** Whether it was the secret of this hash that signed in. */
  binds(secretHash: string): boolean;
}

interface AuthenticateOptions {
  readonly directory: Directory;
  readonly nowMs: number;
  /** How long ago teams and keys were last known to be in step with the store. */
  readonly staleForMs: number;
  readonly maxStaleMs: number;
}

type KeyFault = 'missing_api_key' | 'invalid_api_key' | 'expired_api_key' | 'revoked_api_key';

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway"' };

/**
 * @returns the team and key of a request
 * @throws GatewayError 401 for a missing, malformed, unknown, expired or revoked key, and for a session of one; 503
 *   `not_ready` when the store has been away for so long that a revocation may have been missed
 */
export function authenticate(headers: KeyHeaders, options: AuthenticateOptions): Caller {
  if (headers.session !== undefined) return authenticateSession(headers.session, options);
  const text = presentedKey(headers);
  if (!isWellFormedApiKey(text)) throw refused('invalid_api_key');
  checkStaleness(options);
  const caller = callerOf(options.directory.findKey(text), options);
  if (typeof caller === 'string') throw refused(caller);
  return caller;
}

/** The key is looked at anew: a session lives no longer than what signed in. */
function authenticateSession(session: SignedIn | GatewayError, options: AuthenticateOptions): Caller {
  if (session instanceof GatewayError) throw session;
  checkStaleness(options);
  const key = options.directory.key(session.holder);
  const secret = key?.secrets.find(({ hash }) => session.binds(hash));
  const caller = callerOf(key && secret && { key, secret }, options);
  if (typeof caller !== 'string') return caller;
  throw new GatewayError('invalid_session', {
    detail: 'The key that signed in is no longer valid: it was revoked or rolled, or has expired.',
    help: 'Sign in again with a key that is valid; your operator issues one.',
    headers: CHALLENGE,
  });
}

function checkStaleness({ staleForMs, maxStaleMs }: AuthenticateOptions): void {
  if (staleForMs > maxStaleMs) throw new GatewayError('not_ready', { retryAfterS: 5 });
}

/** @returns the code of what is wrong with the key, where something is */
function callerOf(
  found: FoundKey | undefined,
  { directory, nowMs }: AuthenticateOptions,
): Caller | Exclude<KeyFault, 'missing_api_key'> {
  if (found === undefined) return 'invalid_api_key';
  const { key, secret } = found;
  if (directory.isRevoked(key)) return 'revoked_api_key';
  if (isPast(key.expiresAt, nowMs) || isPast(secret.validUntil, nowMs)) return 'expired_api_key';
  const team = directory.team(key.teamId);
  return team === undefined ? 'revoked_api_key' : { team, key };
}

function presentedKey({ authorization, apiKey }: KeyHeaders): string {
  const presented = [...authorization.map(bearerToken), ...apiKey.map((value) => value.trim())];
  if (presented.length === 0) throw refused('missing_api_key');
  const [first, ...others] = presented as [string | null, ...(string | null)[]];
  if (authorization.length > 1 || apiKey.length > 1 || others.some((other) => other !== first)) {
    throw refused('invalid_api_key', 'Two keys were sent; send one.');
  }
  if (first === null) throw refused('invalid_api_key', 'authorization takes the form "Bearer <key>".');
  return first;
}

function bearerToken(value: string): string | null {
  return /^bearer +([^\s]+)\s*$/i.exec(value)?.[1] ?? null;
}

/** A time that cannot be read counts as past. */
function isPast(iso: string | null, nowMs: number): boolean {
  return iso !== null && !(Date.parse(iso) > nowMs);
}

function refused(code: KeyFault, detail?: string): GatewayError {
  return new GatewayError(code, { headers: CHALLENGE, ...(detail === undefined ? {} : { detail }) });
}

/** What is noted of a caller, for the request's log line. */
interface SeenCaller {
  team: string | null;
  key: string | null;
}

/** @throws GatewayError 401, and `not_ready` where the registry is too old to tell */
export type Identify = (keys: KeyHeaders, seen: SeenCaller) => Caller;

export function createIdentify({
  directory,
  registry,
  clock,
  maxStaleMs,
  onUse,
}: {
  readonly directory: Directory;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly maxStaleMs: number;
  /** Called for every key that was let in. */
  readonly onUse: (keyId: string) => void;
}): Identify {
  return (keys, seen) => {
    const caller = authenticate(keys, {
      directory,
      nowMs: clock.now(),
      staleForMs: registry.staleForMs(),
      maxStaleMs,
    });
    seen.team = caller.team.id;
    seen.key = caller.key.id;
    onUse(caller.key.id);
    return caller;
  };
}
