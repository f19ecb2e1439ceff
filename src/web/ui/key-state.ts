/** Keys as both planes list them. Pure. */

export interface Key {
  readonly label: string;
  readonly prefix: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** Why a valid key is refused. */
  readonly refused: 'team-disabled' | 'long-ago' | 'not-allowed' | null;
  /** The replaced secret. */
  readonly previous: { readonly prefix: string; readonly validUntil: string } | null;
}

export type KeyState = 'valid' | 'revoked' | 'expired';

export function keyState({ revokedAt, expiresAt }: Key, nowMs: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'valid';
}

export const keyName = ({ label, prefix }: Pick<Key, 'label' | 'prefix'>): string => label || `${prefix}…`;

/** Threshold: a key expires soon. */
export const SOON_MS = 14 * 86_400_000;
