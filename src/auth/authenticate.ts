/** First stage of every data-plane request: whose key is this? */
import { GatewayError } from '../errors.js';
import { isWellFormedApiKey } from './api-key.js';
import type { Directory } from './directory.js';
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
}

export interface AuthenticateOptions {
  readonly directory: Directory;
  readonly nowMs: number;
  /** How long ago teams and keys were last known to be in step with the store. */
  readonly staleForMs: number;
  readonly maxStaleMs: number;
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway"' };

/**
 * @returns the team and key of a request
 * @throws GatewayError 401 for a missing, malformed, unknown, expired or revoked key; 503 `not_ready` when the
 *   store has been away for so long that a revocation may have been missed
 */
export function authenticate(headers: KeyHeaders, options: AuthenticateOptions): Caller {
  const text = presentedKey(headers);
  if (!isWellFormedApiKey(text)) throw refused('invalid_api_key');
  if (options.staleForMs > options.maxStaleMs) throw new GatewayError('not_ready', { retryAfterS: 5 });
  const found = options.directory.findKey(text);
  if (found === undefined) throw refused('invalid_api_key');
  const { key, secret } = found;
  if (options.directory.isRevoked(key)) throw refused('revoked_api_key');
  if (isPast(key.expiresAt, options.nowMs)) throw refused('expired_api_key');
  if (isPast(secret.validUntil, options.nowMs)) throw refused('expired_api_key');
  const team = options.directory.team(key.teamId);
  if (team === undefined) throw refused('revoked_api_key');
  return { team, key };
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

function refused(
  code: 'missing_api_key' | 'invalid_api_key' | 'expired_api_key' | 'revoked_api_key',
  detail?: string,
): GatewayError {
  return new GatewayError(code, { headers: CHALLENGE, ...(detail === undefined ? {} : { detail }) });
}
