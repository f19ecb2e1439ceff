/** The vault as it is stored: every token sealed, bound to its id and slot. */
import { SealError, type Sealer } from './seal.js';
import type { Slot, Token, Vault } from './vault.js';

type StoredToken = Omit<Token, 'secret'> & { readonly sealed: string };
type StoredVault = { readonly [slot in Slot]: StoredToken | null } & Pick<Vault, 'seen' | 'healedAt'>;

const context = (id: string, slot: Slot) => `token:${id}:${slot}`;

export function writeVault(vault: Vault, sealer: Sealer): string {
  const sealSlot = (slot: Slot): StoredToken | null => {
    const token = vault[slot];
    if (token === null) return null;
    const { secret, ...shown } = token;
    return { ...shown, sealed: sealer.seal(Buffer.from(secret), context(token.id, slot)) };
  };
  const stored: StoredVault = {
    active: sealSlot('active'),
    pending: sealSlot('pending'),
    previous: sealSlot('previous'),
    seen: vault.seen,
    healedAt: vault.healedAt,
  };
  return JSON.stringify(stored);
}

/** @throws SealError when a token does not open: wrong master key, damage, or a token moved between slots */
export function readVault(text: string, sealer: Sealer): Vault {
  const stored = parse(text);
  const openSlot = (slot: Slot): Token | null => {
    const token = stored[slot];
    if (token === null) return null;
    const { sealed, ...shown } = token;
    return { ...shown, secret: sealer.open(sealed, context(token.id, slot)).toString() };
  };
  return {
    active: openSlot('active'),
    pending: openSlot('pending'),
    previous: openSlot('previous'),
    seen: stored.seen,
    healedAt: stored.healedAt,
  };
}

function parse(text: string): StoredVault {
  try {
    const stored = JSON.parse(text) as StoredVault;
    if ([stored.active, stored.pending, stored.previous].every(isSlot) && Array.isArray(stored.seen))
      return stored;
  } catch {
    // Told below, without the parser's words: they quote the text.
  }
  throw new SealError('the record of the token vault is damaged');
}

function isSlot(token: StoredToken | null | undefined): boolean {
  return token === null || (typeof token?.id === 'string' && typeof token.sealed === 'string');
}
