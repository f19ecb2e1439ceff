import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedSecret } from '../../../src/config/secret.js';
import { readVault, writeVault } from '../../../src/platform/credential/keeper.js';
import { createSealer, SealError } from '../../../src/platform/credential/seal.js';
import { EMPTY_VAULT, type Slot, type Token, type Vault } from '../../../src/platform/credential/vault.js';

const sealer = createSealer(fixedSecret('GATEWAY_MASTER_KEY', randomBytes(32).toString('base64')));
const time = fc
  .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
  .map((date) => date.toISOString());
const token: fc.Arbitrary<Token> = fc.record({
  id: fc.stringMatching(/^tok_[0-9a-f]{18}$/),
  secret: fc.stringMatching(/^[!-~]{12,80}$/),
  fingerprint: fc.stringMatching(/^[0-9a-f]{16}$/),
  source: fc.constantFrom('seed' as const, 'staged' as const, 'minted' as const, 'file' as const),
  createdAt: time,
  expiresAt: time,
  expiryKnown: fc.boolean(),
  verifiedAt: fc.option(time),
  refusedAt: fc.option(time),
});
const vault: fc.Arbitrary<Vault> = fc.record({
  active: fc.option(token),
  pending: fc.option(token),
  previous: fc.option(token),
  seen: fc.array(fc.stringMatching(/^[0-9a-f]{16}$/)),
  recoveredAt: fc.array(time, { maxLength: 3 }),
});
const SLOTS: readonly Slot[] = ['active', 'pending', 'previous'];

describe('the stored vault', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(vault, (value) => {
        expect(readVault(writeVault(value, sealer), sealer)).toEqual(value);
      }),
    );
    expect(readVault(writeVault(EMPTY_VAULT, sealer), sealer)).toEqual(EMPTY_VAULT);
  });

  it('shows no secret in any spelling', () => {
    fc.assert(
      fc.property(vault, (value) => {
        const text = writeVault(value, sealer);
        for (const slot of SLOTS) {
          const secret = value[slot]?.secret;
          if (secret === undefined) continue;
          for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const)
            expect(text).not.toContain(Buffer.from(secret).toString(encoding).slice(0, 16));
        }
      }),
    );
  });

  it('does not open a token that was moved to another slot, or given the id of another', () => {
    fc.assert(
      fc.property(
        token,
        token,
        fc.constantFrom(...SLOTS),
        fc.constantFrom(...SLOTS),
        (one, other, from, to) => {
          fc.pre(from !== to && one.id !== other.id);
          const text = writeVault({ ...EMPTY_VAULT, [from]: one }, sealer);
          const stored = JSON.parse(text) as Record<Slot, { sealed: string } | null>;
          expect(() =>
            readVault(JSON.stringify({ ...stored, [from]: null, [to]: stored[from] }), sealer),
          ).toThrow(SealError);
          const swapped = JSON.parse(writeVault({ ...EMPTY_VAULT, [from]: other }, sealer)) as typeof stored;
          const mixed = { ...stored, [from]: { ...swapped[from], sealed: stored[from]?.sealed } };
          expect(() => readVault(JSON.stringify(mixed), sealer)).toThrow(SealError);
        },
      ),
    );
  });

  it('is damaged when it is no JSON, and its fault quotes nothing', () => {
    expect(() => readVault('{"active":{"sealed":"c4n4ry', sealer)).toThrow(
      new SealError('the record of the token vault is damaged'),
    );
  });
});
