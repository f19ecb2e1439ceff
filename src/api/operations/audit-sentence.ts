/** Entries of the audit as sentences. Pure. */
import { changesOf, failureOf, minuteOf, someOf } from '../../lib/words.js';
import type { AnswerTo } from './table.js';

export type AuditEntry = AnswerTo<'GET /admin/v1/audit'>['entries'][number];

/** The name of an id, with the id. */
export type NameOf = (kind: 'team' | 'key' | 'advertiser' | 'person', id: string) => string;

/** Follows the actor's name; `{}` is the subject. */
const VERBS: Readonly<Record<string, string>> = {
  'team.create': 'created the team {}',
  'team.update': 'changed the team {}',
  'team.delete': 'deleted the team {}',
  'key.issue': 'issued the key {}',
  'key.revoke': 'revoked the key {}',
  'key.roll': 'rolled the key {}',
  'token.stage': 'staged the token {}',
  'token.mint': 'minted the token {}',
  'token.verify': 'verified the token {}',
  'token.activate': 'activated the token {}',
  'token.rollback': 'rolled back to the token {}',
  'token.discard': 'discarded the token {}',
  'token.recover': 'replaced an unusable token by {}',
  'token.refused': 'noted that the platform rejects the token {}',
  'token.accepted': 'noted that the platform accepts the token {}',
  'token.use': 'called {} with an admin token',
  'token.reseal': 're-encrypted all secrets',
  'cache.purge': 'purged {} from the cache',
  'cache.soft-purge': 'marked {} as stale in the cache',
  // Of earlier builds.
  'cache.uncap': 'purged days of {} that came from a truncated answer',
  'history.accept-empty': 'accepted as empty: {}',
  'history.erase': 'erased the history of {}',
  'writes.stop': 'stopped writes of {}',
  'writes.resume': 'resumed writes of {}',
  'writes.settle': 'settled the unknown write {}',
  'clock.move': 'moved the test clock',
  'registry.import': 'restored teams, keys and tokens from a backup',
  'registry.export': 'made a backup of teams, keys and tokens',
  'store.backup': 'copied the store',
  'registry.adopt': 'adopted the registry in the store',
  'registry.mend': 'restored records that the store had lost',
  'registry.migrate': 'migrated the registry to this release',
  'registry.forget-sealed': 'removed the tokens and keys that could not be decrypted',
  'registry.restore': 'restored the registry after the store had lost it',
  'session.open': 'signed in to {}',
  'session.close': 'signed out of {}',
  'session.revoke': 'ended a session of {}',
  'session.refuse': 'was refused by {}: no rule gives this account access to it',
};

/** All there are, also of earlier releases. */
export const AUDIT_ACTIONS: readonly string[] = Object.keys(VERBS);

/** Of attempts that failed. */
const FAILED: Readonly<Record<string, string>> = {
  'token.verify': 'failed to verify the token {}',
  'token.activate': 'failed to activate the token {}',
  'token.rollback': 'failed to roll back to the token {}',
};

/** Ids alone. */
const UNNAMED: NameOf = (_, id) => id;

/** @param nameOf names beside ids */
export function sentenceOf(entry: AuditEntry, nameOf = UNNAMED): string {
  const { action, subject, before, after } = entry;
  const named = namedIn(action, subject, after, nameOf);
  const old = action === 'token.recover' ? printOf(stateIn(before).active) : null;
  const failed = failureOf(after) === null ? undefined : FAILED[action];
  const verb =
    failed !== undefined
      ? subject === 'vault'
        ? failed.replace('the token {}', 'a token')
        : failed
      : action === 'key.issue' && stateIn(after).maker !== undefined
        ? 'made the key {} for own use'
        : old !== null
          ? `replaced the unusable token ${old} by {}`
          : (VERBS[action] ?? `did ${action} to {}`);
  const { reason } = stateIn(after);
  // Of a failed verification it is told apart.
  const why = typeof reason === 'string' && failureOf(after) === null ? `: “${reason}”` : '';
  return `${actorOf(entry)} ${verb.replace('{}', () => named)}${why}`;
}

/** The sentence with what was changed and why it failed. */
export function toldOf(entry: AuditEntry): string {
  const parts = [sentenceOf(entry), changedIn(entry), failureOf(entry.after)];
  return parts.filter((part) => part !== null).join(': ');
}

/** An entry, or sign-ins of one person to one place. */
interface Told {
  /** The newest. */
  readonly entry: AuditEntry;
  readonly times: number;
  /** When the first of them was, ISO. */
  readonly firstAt: string;
}

/**
 * Folds sign-ins without another entry between them, those of each person to one place into one.
 * @param entries newest first, as the answer
 */
export function foldSignIns(entries: readonly AuditEntry[]): readonly Told[] {
  const told: Told[] = [];
  /** Places in `told`, of the sign-ins since another entry. */
  let open = new Map<string, number>();
  for (const entry of entries) {
    const { action, actor, sub = '', at } = entry;
    const isSignIn = action === 'session.open';
    if (!isSignIn) open = new Map();
    const who = JSON.stringify([actor, sub, stateIn(entry.after).plane]);
    const place = isSignIn ? (open.get(who) ?? told.length) : told.length;
    const times = (told[place]?.times ?? 0) + 1;
    told[place] = { entry: told[place]?.entry ?? entry, times, firstAt: at };
    if (isSignIn) open.set(who, place);
  }
  return told;
}

const SHOWN_CHANGES = 3;

/** In short what changed in a record of a team or a key: `requests per minute 600 → 30`; null: it is new, gone, or another one. */
export function changedIn({
  at,
  action,
  before,
  after,
}: Pick<AuditEntry, 'at' | 'action' | 'before' | 'after'>): string | null {
  if (!before || !after || !/^(team|key)\./.test(action)) return null;
  if (action === 'key.revoke') return null;
  if (action === 'key.roll') return rolledIn(at, stateIn(after));
  const told = (value: string | null) => (value ?? '–').replace(/^"(.*)"$/, '$1');
  const all = changesOf(before, after).map(({ path, before: was, after: is }) => {
    const name = path
      .replace(/^limits\./, '')
      .replace('upstreamCallsPerDay', 'platformCallsADay')
      .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    return `${name} ${told(was)} → ${told(is)}`;
  });
  return someOf(all, SHOWN_CHANGES) || null;
}

/** When the old secret ends: `dgw_xEeSGk… ended at once`. @param at of the roll */
function rolledIn(at: string, { previous }: Readonly<Record<string, unknown>>): string | null {
  const { prefix, validUntil } = stateIn(previous);
  if (typeof prefix !== 'string' || typeof validUntil !== 'string') return null;
  const isOver = Date.parse(validUntil) <= Date.parse(at);
  return `its old secret ${prefix}… ${isOver ? 'ended at once' : `is valid until ${minuteOf(Date.parse(validUntil))}`}`;
}

/** A person's name may be that of a token, so it says what it is. */
export function actorOf({ actor, name }: AuditEntry): string {
  if (actor === 'gateway') return 'The gateway';
  return actor === 'person' && name !== undefined ? `${name} (company account)` : actor;
}

const stateIn = (after: unknown) => (after ?? {}) as Readonly<Record<string, unknown>>;

function namedIn(action: string, subject: string, after: unknown, nameOf: NameOf): string {
  const is = stateIn(after);
  const [kind = ''] = action.split('.');
  const team = typeof is.teamId === 'string' ? nameOf('team', is.teamId) : null;
  if (kind === 'team') return nameOf('team', subject);
  if (action === 'session.revoke') return nameOf(subject.startsWith('key_') ? 'key' : 'person', subject);
  // With a token only the console is signed in to.
  if (kind === 'session') return is.plane === 'data' ? 'the explorer' : 'the console';
  if (kind === 'key') {
    // Labels repeat.
    const prefix = is.label && typeof is.prefix === 'string' ? ` ${is.prefix}…` : '';
    const key = team === null ? subject : `${is.label || subject}${prefix} of ${team}`;
    const isOfPerson = action === 'key.revoke' && typeof is.maker === 'string';
    return isOfPerson ? `${key}, made by ${nameOf('person', String(is.maker))}` : key;
  }
  if (kind === 'writes' && team !== null) return `the team ${team}`;
  const token =
    kind === 'token' && TOKEN_SLOTS.map((slot) => is[slot]).find((one) => stateIn(one).id === subject);
  const print = token ? printOf(token) : null;
  if (print !== null) return print;
  return subject.replace(/^advertiser (\d+)$/, (_, id: string) => `advertiser ${nameOf('advertiser', id)}`);
}

/** `b998 (tok_1)`; null: not of a token. */
function printOf(token: unknown): string | null {
  const { id, fingerprint } = stateIn(token);
  return typeof fingerprint === 'string' ? `${fingerprint} (${id})` : null;
}

const TOKEN_SLOTS = ['active', 'pending', 'previous'];

/** `call`: path and query below the platform's base URL; null: no call was needed. */
type Proof = Readonly<{ call: string | null; reason: string; reportsCompared: number }>;

/** @param after of an audit entry. @returns null without a proof */
export function proofOf(after: unknown): Proof | null {
  const proof = (after as { readonly proof?: Partial<Proof> } | null | undefined)?.proof;
  return typeof proof?.reason === 'string'
    ? { call: proof.call ?? null, reason: proof.reason, reportsCompared: proof.reportsCompared ?? 0 }
    : null;
}
