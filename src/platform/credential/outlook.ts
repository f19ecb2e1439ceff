/** The state of the credential: when it expires, and whether somebody should act. Pure. */
import Type, { type Static, type TSchema } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import type { ProofStatus } from './evidence.js';
import { isExpired, type Token, type Vault } from './vault.js';

const DAY_MS = 86_400_000;

/** Days before the expiry at which there is a warning; 0: it has expired. */
export const WARN_AT_DAYS: readonly number[] = [30, 14, 7, 3, 1, 0];

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Members after the state are null without an active token. */
export const Outlook = Type.Object(
  {
    state: Type.Enum(['ok', 'unproven', 'expiring', 'refused', 'missing', 'expired'], {
      description:
        'refused: the platform rejects the active token, and no other one is available; expiring: an operator should act; unproven: not yet verified by a platform call.',
    }),
    expiresAt: nullable(Type.String({ format: 'date-time' })),
    expiryKnown: nullable(Type.Boolean({ description: 'False: assumed to be one year after first seen.' })),
    daysLeft: nullable(Type.Integer({ minimum: 0, description: 'Days until expiry, rounded down.' })),
    warningDays: nullable(
      Type.Integer({
        description: 'The lowest reached warning threshold; null: no action required.',
      }),
    ),
    renewsAt: nullable(
      Type.String({
        format: 'date-time',
        description: 'When the gateway renews it; null: it does not.',
      }),
    ),
    refusedAt: nullable(
      Type.String({
        format: 'date-time',
        description: 'Since when the platform rejects it; null: it does not.',
      }),
    ),
  },
  { title: 'Credential', description: "The state of the platform's credential, without anything secret." },
);
export type Outlook = Frozen<Static<typeof Outlook>>;

export interface OutlookOptions {
  readonly nowMs: number;
  readonly proof: ProofStatus;
  /** How long before its expiry a token is renewed automatically; null without a token request. */
  readonly renewBeforeMs: number | null;
}

export function outlookOf({ active }: Vault, options: OutlookOptions): Outlook {
  const { nowMs, proof, renewBeforeMs } = options;
  if (active === null) return { state: 'missing', ...NOTHING };
  const leftMs = Math.max(0, Date.parse(active.expiresAt) - nowMs);
  const renewsAtMs = renewalTime(active, renewBeforeMs);
  const warning = warningDays(active, nowMs, renewBeforeMs);
  return {
    state: isExpired(active, nowMs) ? 'expired' : stateOf(proof, warning),
    expiresAt: active.expiresAt,
    expiryKnown: active.expiryKnown,
    daysLeft: Math.floor(leftMs / DAY_MS),
    warningDays: warning,
    renewsAt: renewsAtMs === null ? null : new Date(renewsAtMs).toISOString(),
    refusedAt: active.refusedAt,
  };
}

const NOTHING = {
  expiresAt: null,
  expiryKnown: null,
  daysLeft: null,
  warningDays: null,
  renewsAt: null,
  refusedAt: null,
} as const;

function stateOf(proof: ProofStatus, warning: number | null): Outlook['state'] {
  if (proof === 'refused') return 'refused';
  if (warning !== null) return 'expiring';
  return proof === 'unproven' ? 'unproven' : 'ok';
}

/**
 * When a token is renewed: in the last third of its lifetime at the earliest, else each new one would be due at once.
 * @returns epoch milliseconds; null if tokens are not renewed before they expire
 */
export function renewalTime(token: Token, renewBeforeMs: number | null): number | null {
  if (renewBeforeMs === null || renewBeforeMs === 0) return null;
  return Date.parse(token.expiresAt) - renewalLeadMs(token, renewBeforeMs);
}

export function renewalLeadMs(token: Token, renewBeforeMs: number): number {
  const lifetimeMs = Date.parse(token.expiresAt) - Date.parse(token.createdAt);
  return Math.min(renewBeforeMs, Math.max(0, lifetimeMs / 3));
}

/** With automatic renewal there is a warning only if the renewal is long overdue. */
function warningDays(token: Token, nowMs: number, renewBeforeMs: number | null): number | null {
  const leftMs = Date.parse(token.expiresAt) - nowMs;
  const thresholds =
    renewBeforeMs === null
      ? WARN_AT_DAYS
      : WARN_AT_DAYS.filter((days) => days * DAY_MS < renewalLeadMs(token, renewBeforeMs));
  const reached = thresholds.filter((days) => leftMs <= days * DAY_MS);
  return reached.length === 0 ? null : Math.min(...reached);
}

/** E.g. `expires in 13 days (assumed)`. */
export function expiryText({ daysLeft, expiryKnown }: Outlook): string {
  return `expires in ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'}${expiryKnown ? '' : ' (assumed)'}`;
}
