/** A new master key: what is sealed is sealed anew, and the old one may go. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { reseal as resealAll } from '../../../src/api/admin/token.js';
import { fixedSecret } from '../../../src/config/secret.js';
import { createVaultKeeper, VAULT_RECORD } from '../../../src/platform/credential/keeper.js';
import { createSealer, SealError } from '../../../src/platform/credential/seal.js';
import { activate, createToken, stage } from '../../../src/platform/credential/vault.js';
import { openPepper, PEPPER_RECORD } from '../../../src/teams/auth/pepper.js';
import type { AuditRecord } from '../../../src/telemetry/audit.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';

const key = () => randomBytes(32).toString('base64');
const sealerOf = (...keys: string[]) => createSealer(fixedSecret('GATEWAY_MASTER_KEY', keys.join(',')));
const ALICE = { name: 'alice', address: '10.0.0.1' };

/** A gateway's registry, sealed under `before`, with an active and a pending token. */
async function openSealed(before: string, after = key()) {
  const store = withoutBus(await openInMemory());
  const replica = await openReplica(store);
  const { registry, clock, log } = replica;
  const open = (...keys: string[]) =>
    createVaultKeeper({ registry, sealer: sealerOf(...keys), clock, logger: log.logger });
  const pepper = await openPepper(registry, sealerOf(before, after));
  const add = (secret: string, active: boolean) =>
    open(before, after).move('token.stage', ALICE, (vault) => {
      const from = { secret, source: 'staged' as const, expiresAt: null };
      const staged = stage(vault, createToken(from, pepper(), clock.now()));
      return active ? activate(staged, true, clock.now()) : staged;
    });
  await add('active', true);
  await add('pending', false);
  const reseal = (...keys: string[]) => resealAll(ALICE, { registry, sealer: sealerOf(...keys), clock });
  const audit = async () =>
    (await store.registry.readAudit(10)).map(({ text }) => JSON.parse(text) as AuditRecord);
  return { ...replica, open, pepper, add, reseal, audit };
}

describe('a reseal', () => {
  it('puts everything under the first key, after which the old one is of no use and not needed', async () => {
    const [before, after] = [key(), key()];
    const sealed = await openSealed(before);
    const { registry, open } = sealed;
    const [vault, pepper] = [open(before).vault(), sealed.pepper()];
    const done = await sealed.reseal(after, before);
    expect(done).toEqual({ masterKey: sealerOf(after).keyId(), records: [PEPPER_RECORD, VAULT_RECORD] });
    expect(open(after).vault()).toEqual(vault);
    expect((await openPepper(registry, sealerOf(after)))()).toEqual(pepper);
    expect(() => open(before).vault()).toThrow(SealError);
    await expect(openPepper(registry, sealerOf(before))).rejects.toThrow(SealError);
  });

  it('is one audited commit, which shows no key', async () => {
    const [before, after] = [key(), key()];
    const sealed = await openSealed(before);
    await sealed.registry.refresh();
    const { version } = sealed.registry;
    const { masterKey } = await sealed.reseal(after, before);
    await sealed.registry.refresh();
    expect(sealed.registry.version).toBe(version + 1);
    const [entry] = await sealed.audit();
    expect(entry).toMatchObject({
      action: 'token.reseal',
      actor: 'alice',
      after: { masterKey, records: ['meta/pepper', 'vault'] },
    });
    expect(JSON.stringify(entry)).not.toContain(after);
  });

  it('without a key that opens changes nothing', async () => {
    const sealed = await openSealed(key());
    const records = new Map(sealed.registry.list(''));
    await expect(sealed.reseal(key())).rejects.toMatchObject({ code: 'conflict' });
    expect(new Map(sealed.registry.list(''))).toEqual(records);
  });

  it('loses no change that is made to the vault at the same time', async () => {
    const [before, after] = [key(), key()];
    const sealed = await openSealed(before, after);
    await Promise.all([sealed.reseal(after, before), sealed.add('staged meanwhile', false)]);
    expect(sealed.open(after, before).vault()).toMatchObject({
      active: { secret: 'active' },
      pending: { secret: 'staged meanwhile' },
    });
  });
});
