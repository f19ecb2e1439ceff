/** The vault as it is stored: every token sealed, bound to its id and slot. */
import Type, { type Static } from 'typebox';
import { type Frozen, type RecordOf, recordForm } from '../../lib/record.js';
import { SealError, type Sealer } from './seal.js';
import type { Slot, Token, TokenSourceName, Vault } from './vault.js';

const StoredToken = Type.Object({
  id: Type.String(),
  sealed: Type.String(),
  fingerprint: Type.String(),
  /** One that this release does not know is only shown. */
  source: Type.Unsafe<TokenSourceName>(Type.String()),
  createdAt: Type.String(),
  expiresAt: Type.String(),
  expiryKnown: Type.Boolean(),
  verifiedAt: Type.Union([Type.String(), Type.Null()]),
  refusedAt: Type.Union([Type.String(), Type.Null()]),
});
type StoredToken = Frozen<Static<typeof StoredToken>>;

const slot = Type.Union([StoredToken, Type.Null()]);
const StoredVault = recordForm(
  Type.Object({
    active: slot,
    pending: slot,
    previous: slot,
    seen: Type.Array(Type.String()),
    recoveredAt: Type.Array(Type.String()),
  }),
);
type StoredVault = RecordOf<typeof StoredVault>;

const context = (id: string, slot: Slot) => `token:${id}:${slot}`;

export function writeVault(vault: Vault, sealer: Sealer): string {
  const sealSlot = (slot: Slot): StoredToken | null => {
    const token = vault[slot];
    if (token === null) return null;
    const { secret, ...shown } = token;
    return { ...shown, sealed: sealer.seal(Buffer.from(secret), context(token.id, slot)) };
  };
  const stored: StoredVault = {
    ...vault,
    active: sealSlot('active'),
    pending: sealSlot('pending'),
    previous: sealSlot('previous'),
  };
  return JSON.stringify(stored);
}

/** @throws SealError when a token does not open: wrong master key, damage, or a token moved between slots */
export function readVault(text: string, sealer: Sealer): Vault {
  const stored = StoredVault.parse(text);
  if (stored === null) throw new SealError('the record of the token vault is damaged');
  const openSlot = (slot: Slot): Token | null => {
    const token = stored[slot];
    if (token === null) return null;
    const { sealed, ...shown } = token;
    return { ...shown, secret: sealer.open(sealed, context(token.id, slot)).toString() };
  };
  return {
    ...stored,
    active: openSlot('active'),
    pending: openSlot('pending'),
    previous: openSlot('previous'),
  };
}
