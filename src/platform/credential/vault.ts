/**
 * The states of the platform's token. Pure.
 *
 *   stage → pending → (verify) → active → previous → deleted
 */
import { createHmac } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { GatewayError } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import type { Frozen } from '../../lib/record.js';
import { since } from '../../lib/words.js';

export type TokenSourceName = 'seed' | 'staged' | 'minted' | 'file';

/** What is stored and shown of a token. */
export const KnownToken = Type.Object({
  id: Type.String(),
  /** Keyed digest of the secret: distinguishes tokens without revealing them. */
  fingerprint: Type.String(),
  /** One of another release is only shown. */
  source: Type.Unsafe<TokenSourceName>(Type.String()),
  /** ISO times. */
  createdAt: Type.String(),
  expiresAt: Type.String(),
  /** False: `expiresAt` is assumed to be one year after the token was first seen, as the document says. */
  expiryKnown: Type.Boolean(),
  verifiedAt: Type.Union([Type.String(), Type.Null()]),
  /** When the platform refused it; null after it was accepted again. */
  refusedAt: Type.Union([Type.String(), Type.Null()]),
});

export interface Token extends Frozen<Static<typeof KnownToken>> {
  readonly secret: string;
}

export const SLOTS = ['active', 'pending', 'previous'] as const;
export type Slot = (typeof SLOTS)[number];

export interface Vault {
  readonly active: Token | null;
  readonly pending: Token | null;
  readonly previous: Token | null;
  /** Fingerprints of all tokens that have been in the vault, so that a seed is planted only once. */
  readonly seen: readonly string[];
  /** ISO times of the last recoveries of all replicas, newest last, to limit their rate. */
  readonly recoveredAt: readonly string[];
}

export const EMPTY_VAULT: Vault = { active: null, pending: null, previous: null, seen: [], recoveredAt: [] };

/** The document: "A token expires 1 year after it is generated." */
export const LIFETIME_MS = 365 * 86_400_000;
const MAX_SEEN = 1000;

/** At most this many recoveries within this time: a platform may refuse every token that it issues. */
const MAX_RECOVERIES = 3;
const RECOVERIES_WITHIN_MS = 60_000;

/** @param pepper keys the fingerprint, so that it cannot be compared outside this gateway */
export function fingerprintOf(secret: string, pepper: Buffer): string {
  return createHmac('sha256', pepper).update('token ').update(secret).digest('hex').slice(0, 16);
}

export interface NewToken {
  readonly secret: string;
  readonly source: TokenSourceName;
  /** ISO time, or null when not known. */
  readonly expiresAt: string | null;
}

export function createToken(from: NewToken, pepper: Buffer, nowMs: number): Token {
  return {
    id: `tok_${randomBuffer(9).toString('hex')}`,
    secret: from.secret,
    fingerprint: fingerprintOf(from.secret, pepper),
    source: from.source,
    createdAt: new Date(nowMs).toISOString(),
    expiresAt: from.expiresAt ?? new Date(nowMs + LIFETIME_MS).toISOString(),
    expiryKnown: from.expiresAt !== null,
    verifiedAt: null,
    refusedAt: null,
  };
}

/** Whether a token has ever been in the vault. */
export function hasSeen(vault: Vault, fingerprint: string): boolean {
  return SLOTS.some((slot) => vault[slot]?.fingerprint === fingerprint) || vault.seen.includes(fingerprint);
}

/** Makes a token the pending one. The active token may be given again to change its expiry. */
export function stage(vault: Vault, token: Token): Vault {
  if (vault.active?.fingerprint === token.fingerprint) {
    if (token.expiryKnown && token.expiresAt !== vault.active.expiresAt) {
      return { ...vault, active: { ...vault.active, expiresAt: token.expiresAt, expiryKnown: true } };
    }
    throw refused(
      'This token is the active one already.',
      vault.active.refusedAt === null
        ? 'Nothing needs to be done; GET /admin/v1/token shows it.'
        : 'The platform refuses it: create another token in its dashboard and give that one.',
    );
  }
  const seen = [...vault.seen.filter((one) => one !== token.fingerprint), token.fingerprint].slice(-MAX_SEEN);
  return { ...vault, pending: token, seen };
}

/** Records that the platform accepted a token, if it is in a slot. */
export function markVerified(vault: Vault, tokenId: string, nowMs: number): Vault {
  const held = SLOTS.find((slot) => vault[slot]?.id === tokenId);
  if (held === undefined) return vault;
  const verifiedAt = new Date(nowMs).toISOString();
  return { ...vault, [held]: { ...vault[held], verifiedAt } };
}

/** Records that the platform accepted the active token, if it is this one. */
export function markAccepted(vault: Vault, tokenId: string, nowMs: number): Vault {
  const { active } = vault;
  if (active?.id !== tokenId || (active.verifiedAt !== null && active.refusedAt === null)) return vault;
  const verifiedAt = active.verifiedAt ?? new Date(nowMs).toISOString();
  return { ...vault, active: { ...active, verifiedAt, refusedAt: null } };
}

/** Records that the platform refuses the active token, if it is this one. */
export function markRefused(vault: Vault, tokenId: string, nowMs: number): Vault {
  const { active } = vault;
  if (active?.id !== tokenId || active.refusedAt !== null) return vault;
  return { ...vault, active: { ...active, refusedAt: new Date(nowMs).toISOString() } };
}

/** Records what a call with a token brought just now; `unknown`: it is not verified any more. */
export function markTried(
  vault: Vault,
  slot: Slot,
  outcome: 'accepted' | 'refused' | 'unknown',
  nowMs: number,
): Vault {
  const token = vault[slot];
  if (token === null) return vault;
  const at = new Date(nowMs).toISOString();
  const marks = {
    accepted: { verifiedAt: at, refusedAt: null },
    refused: { refusedAt: token.refusedAt ?? at },
    unknown: { verifiedAt: null },
  };
  return { ...vault, [slot]: { ...token, ...marks[outcome] } };
}

/** Makes the pending token the active one; the active one becomes previous. */
export function activate(vault: Vault, force: boolean, nowMs: number): Vault {
  if (vault.pending === null) throw noPending();
  if (isExpired(vault.pending, nowMs)) throw refused('The pending token has expired.', GIVE_ANOTHER);
  if (vault.pending.verifiedAt === null && !force) {
    throw new GatewayError('verification_failed', {
      detail: 'The pending token is not verified.',
      help: 'Verify it by POST /admin/v1/token/verify, or repeat with "force": true to activate it without verification.',
    });
  }
  return { ...vault, active: vault.pending, pending: null, previous: vault.active };
}

/**
 * Swaps the previous token and the active one. A token that the platform has refused stays so until it is accepted.
 * @param force also for a token that the platform has refused
 */
export function rollback(vault: Vault, force: boolean, nowMs: number): Vault {
  const { previous } = vault;
  if (previous === null) throw refused('There is no previous token to go back to.', GIVE_ANOTHER);
  if (isExpired(previous, nowMs)) throw refused('The previous token has expired.', GIVE_ANOTHER);
  if (previous.refusedAt !== null && !force)
    throw refused(
      `The platform has refused the previous token ${previous.fingerprint}${since(previous.refusedAt, nowMs)}.`,
      `${GIVE_ANOTHER} If the platform accepts it again, repeat with "force": true.`,
    );
  return { ...vault, active: previous, previous: vault.active };
}

/** Updates the expiry after the platform issued the active token again. */
export function renew(vault: Vault, expiresAt: string, expiryKnown: boolean): Vault {
  if (vault.active === null || Date.parse(expiresAt) <= Date.parse(vault.active.expiresAt)) return vault;
  return { ...vault, active: { ...vault.active, expiresAt, expiryKnown } };
}

/** Whether the rate limit allows another recovery. A clock that was moved back does not block it. */
export function mayRecover({ recoveredAt }: Vault, nowMs: number): boolean {
  const recent = recoveredAt.filter((at) => Math.abs(nowMs - Date.parse(at)) < RECOVERIES_WITHIN_MS);
  return recent.length < MAX_RECOVERIES;
}

/** Records that the active token was refused and will be replaced. */
export function noteRecovery(vault: Vault, nowMs: number): Vault {
  const at = new Date(nowMs).toISOString();
  const active = vault.active === null ? null : { ...vault.active, refusedAt: at };
  return { ...vault, active, recoveredAt: [...vault.recoveredAt, at].slice(-MAX_RECOVERIES) };
}

const GIVE_ANOTHER = 'Give another token by POST /admin/v1/token/rotate.';

function refused(detail: string, help: string): GatewayError {
  return new GatewayError('conflict', { detail, help });
}

export function noPending(): GatewayError {
  return refused(
    'There is no pending token.',
    'Stage one by POST /admin/v1/token/stage; POST /admin/v1/token/rotate takes all steps in one.',
  );
}

export function discard(vault: Vault): Vault {
  if (vault.pending === null)
    throw refused(
      'There is no pending token to discard.',
      'Nothing needs to be done; GET /admin/v1/token shows what there is.',
    );
  return { ...vault, pending: null };
}

export function dropExpired(vault: Vault, nowMs: number): Vault {
  return vault.previous !== null && isExpired(vault.previous, nowMs) ? { ...vault, previous: null } : vault;
}

/** Whether it must not be used any more. An assumed expiry only causes a warning. */
export function isOver(token: Token, nowMs: number): boolean {
  return token.expiryKnown && isExpired(token, nowMs);
}

/** Whether its expiry has passed, known or assumed. */
export function isExpired(token: Token, nowMs: number): boolean {
  return Date.parse(token.expiresAt) <= nowMs;
}

export function showToken(token: Token | null): Omit<Token, 'secret'> | null {
  if (token === null) return null;
  const { id, fingerprint, source, createdAt, expiresAt, expiryKnown, verifiedAt, refusedAt } = token;
  return { id, fingerprint, source, createdAt, expiresAt, expiryKnown, verifiedAt, refusedAt };
}
