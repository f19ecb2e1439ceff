/** First stage of every data-plane request: finds the key, or the session, and its team. */
import { GatewayError } from '../../errors.js';
import type { Who } from '../../telemetry/audit.js';
import type { RefusedKey } from '../../telemetry/refused-keys.js';
import { noLongerAllowed, type Session } from '../sessions/sessions.js';
import { isOfTeam } from '../sign-in/people.js';
import type { Person, Persons } from '../sign-in/persons.js';
import type { Directory, FoundKey } from './directory.js';
import type { KeyRecord } from './key-record.js';
import type { Team } from './team.js';

export interface Caller {
  readonly team: Team;
  /** Of a person, one in the form of a key, without a secret. */
  readonly key: KeyRecord;
  /** Who has signed in with a company account. */
  readonly person?: Person;
}

type SignedIn = Pick<Session, 'holder' | 'binds' | 'isPerson' | 'team'>;

/** All values of the two headers that may carry a key. */
export interface KeyHeaders {
  readonly authorization: readonly string[];
  readonly apiKey: readonly string[];
  /** For a request without key: its session, or its error. */
  readonly session?: SignedIn | GatewayError;
}

interface AuthenticateOptions {
  readonly directory: Directory;
  readonly persons: Pick<Persons, 'find' | 'keyFault'>;
  readonly nowMs: number;
  /** Time since the registry was last known to equal the store. */
  readonly staleForMs: number;
  readonly maxStaleMs: number;
  /** Receives a known key that is refused, before the error. */
  readonly onRefused: (refused: RefusedKey) => void;
}

type KeyFault = 'missing_api_key' | 'invalid_api_key' | 'expired_api_key' | 'revoked_api_key';

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway"' };

/**
 * @throws GatewayError 401 for a missing, malformed, unknown, expired or revoked key, and for a session of one; 503
 *   `not_ready` after `maxStaleMs` without the store, as a revocation may have been missed
 */
export function authenticate(headers: KeyHeaders, options: AuthenticateOptions): Caller {
  if (headers.session !== undefined) return authenticateSession(headers.session, options);
  const text = presentedKey(headers);
  if (!options.directory.mayBeKey(text)) throw refused('invalid_api_key');
  checkStaleness(options);
  const found = options.directory.findKey(text);
  const caller = callerOf(found, options);
  if (typeof caller === 'string') {
    if (found === undefined) throw refused(caller);
    const fault = refusedKey(found, caller);
    options.onRefused(fault);
    throw fault.why === 'replaced' ? replaced(found, options.nowMs) : refused(caller);
  }
  checkMaker(caller.key, options);
  return caller;
}

/** As operators find it in the list of keys. */
const labelOf = ({ label, secrets: [first] }: Pick<KeyRecord, 'label' | 'secrets'>): string =>
  label || `${first?.prefix}…`;

function refusedKey({ key, secret }: FoundKey, fault: KeyFault): RefusedKey {
  const of = { team: key.teamId, key: key.id, label: labelOf(key) };
  if (fault === 'revoked_api_key') return { ...of, why: 'revoked', endedAt: key.revokedAt };
  const isOld = secret !== key.secrets[0];
  return { ...of, why: isOld ? 'replaced' : 'expired', endedAt: isOld ? secret.validUntil : key.expiresAt };
}

/** The old secret of a rolled key, unless the new one has expired, too. */
function replaced({ key, secret }: FoundKey, nowMs: number): GatewayError {
  if (isPast(key.expiresAt, nowMs)) return refused('expired_api_key');
  const day = secret.validUntil?.slice(0, 10);
  return new GatewayError('expired_api_key', {
    detail: `This key was replaced by a new one; it ended on ${day}.`,
    help: `Send the new one, which ${key.maker === undefined ? 'your operator' : 'its maker'} has.`,
    headers: CHALLENGE,
  });
}

/** Checks the current key: a session ends with the key that opened it. */
function authenticateSession(session: SignedIn | GatewayError, options: AuthenticateOptions): Caller {
  if (session instanceof GatewayError) throw session;
  checkStaleness(options);
  if (session.isPerson) return callerOfPerson(session, options);
  const key = options.directory.key(session.holder);
  const secret = key?.secrets.find(({ hash }) => session.binds(hash));
  const caller = callerOf(key && secret && { key, secret }, options);
  if (typeof caller !== 'string') {
    checkMaker(caller.key, options);
    return caller;
  }
  throw new GatewayError('invalid_session', {
    detail: 'The key of this session is no longer valid: it was revoked or rolled, or has expired.',
    help: 'Sign in again with a valid key, or ask your operator for one.',
    headers: CHALLENGE,
  });
}

/** By today's list and the claims of the last sign-in. */
function callerOfPerson(
  { holder, team: chosen }: SignedIn,
  { persons, directory }: AuthenticateOptions,
): Caller {
  const person = personIn(persons, holder);
  const team = chosen !== null && isOfTeam(person.grant, chosen) ? directory.team(chosen) : undefined;
  if (team === undefined) throw new GatewayError('session_forbidden', { detail: NO_TEAM, help: CHOOSE });
  const { id, name, signedInAtMs } = person;
  const key: KeyRecord = {
    ...{ id, teamId: team.id, life: directory.life(team.id), label: name },
    ...{ createdAt: new Date(signedInAtMs).toISOString(), expiresAt: null, revokedAt: null, secrets: [] },
  };
  return { team, key, person };
}

const NO_TEAM = 'No team is chosen, or the company account may no longer act as it.';
const CHOOSE = 'Choose a team: GET /gateway/v1/session lists them, PUT /gateway/v1/session/team chooses one.';

/**
 * The person of an explorer's session.
 * @throws GatewayError `invalid_session` if the account may act as no team any more
 */
export function personIn(persons: Pick<Persons, 'find'>, id: string): Person {
  const person = persons.find(id);
  if (person !== null && person.grant.teams.length > 0) return person;
  throw noLongerAllowed('dgw_explorer', 'act as any team');
}

function checkStaleness({ staleForMs, maxStaleMs }: AuthenticateOptions): void {
  if (staleForMs > maxStaleMs) throw new GatewayError('not_ready', { retryAfterS: 5 });
}

function callerOf(
  found: FoundKey | undefined,
  { directory, nowMs }: AuthenticateOptions,
): Caller | Exclude<KeyFault, 'missing_api_key'> {
  if (found === undefined) return 'invalid_api_key';
  const { key, secret } = found;
  if (directory.isRevoked(key)) return 'revoked_api_key';
  if (isPast(key.expiresAt, nowMs) || isPast(secret.validUntil, nowMs)) return 'expired_api_key';
  const team = directory.team(key.teamId);
  return team === undefined ? 'revoked_api_key' : { team: withinKey(team, key), key };
}

/** By key, as its team is asked at each request. */
const limited = new WeakMap<KeyRecord, { readonly of: Team; readonly team: Team }>();

/** The team with the scopes that its key has too. */
function withinKey(team: Team, key: KeyRecord): Team {
  const { scopes } = key;
  if (scopes === undefined) return team;
  const known = limited.get(key);
  if (known?.of === team) return known.team;
  const narrowed = { ...team, scopes: team.scopes.filter((scope) => scopes.includes(scope)) };
  limited.set(key, { of: team, team: narrowed });
  return narrowed;
}

/** A person's key ends with the rights of its maker. @throws GatewayError `expired_api_key`, `revoked_api_key` */
function checkMaker(
  { id, label, maker, teamId, secrets }: KeyRecord,
  { persons, nowMs, onRefused }: AuthenticateOptions,
): void {
  const fault = maker === undefined ? null : persons.keyFault(maker, teamId, nowMs);
  if (fault === null) return;
  const isOld = fault === 'long-ago';
  onRefused({
    team: teamId,
    key: id,
    label: labelOf({ label, secrets }),
    why: isOld ? 'expired' : 'revoked',
    endedAt: null,
  });
  throw new GatewayError(isOld ? 'expired_api_key' : 'revoked_api_key', {
    detail: isOld
      ? 'The person who made this key has not signed in for too long.'
      : 'The person who made this key may no longer have keys of this team.',
    help: isOld
      ? "Its maker signs in again with the company account at the gateway's explorer; then the key works again."
      : 'Ask your operator for access; its maker then signs in again and, if the key was revoked, makes another.',
    headers: CHALLENGE,
  });
}

function presentedKey({ authorization, apiKey }: KeyHeaders): string {
  const bearers = authorization.map((value) => /^bearer +([^\s]+)\s*$/i.exec(value)?.[1] ?? null);
  const presented = [...bearers, ...apiKey.map((value) => value.trim())];
  if (presented.length === 0) throw refused('missing_api_key');
  const [first, ...others] = presented as [string | null, ...(string | null)[]];
  if (authorization.length > 1 || apiKey.length > 1 || others.some((other) => other !== first)) {
    throw refused('invalid_api_key', 'Two keys were sent; send one.');
  }
  if (first === null) throw refused('invalid_api_key', 'authorization takes the form "Bearer <key>".');
  return first;
}

/** An invalid time counts as past. */
function isPast(iso: string | null, nowMs: number): boolean {
  return iso !== null && !(Date.parse(iso) > nowMs);
}

function refused(code: KeyFault, detail?: string): GatewayError {
  return new GatewayError(code, { headers: CHALLENGE, ...(detail === undefined ? {} : { detail }) });
}

/** @param seen receives team, key and person, or the key that is refused, for the log line. @throws GatewayError as {@link authenticate} */
export type Identify = (
  keys: KeyHeaders,
  seen: {
    team: string | null;
    key: string | null;
    person: Who | null;
    refusedKey: RefusedKey | null;
  },
) => Caller;
