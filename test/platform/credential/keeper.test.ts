import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import {
  activate,
  createToken,
  discard,
  EMPTY_VAULT,
  markVerified,
  rollback,
  stage,
  type Vault,
} from '../../../src/platform/credential/vault.js';
import { GATEWAY_ACTOR } from '../../../src/telemetry/audit.js';
import { ALICE, openScene, PEPPER, secretsIn, staged } from './credential-harness.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const token = (secret: string, expiresAt: string | null = null) =>
  createToken(staged(secret, expiresAt), PEPPER, NOW);
const put = (secret: string) => (vault: Vault) => activate(stage(vault, token(secret)), true, NOW);

describe('the vault in the registry', () => {
  it('is empty at first, and has no token to ask with', async () => {
    const { keeper } = await openScene();
    expect(keeper.vault()).toEqual(EMPTY_VAULT);
    expect(keeper.active).toThrow(
      expect.objectContaining({ code: 'credential_unavailable', message: 'there is no active token' }),
    );
  });

  it('shows its own moves at once, and those of another replica when it has looked', async () => {
    const scene = await openScene();
    const other = await scene.another();
    await scene.keeper.move('token.stage', ALICE, put('one'));
    expect(scene.keeper.active().secret).toBe('one');
    expect(other.keeper.vault()).toEqual(EMPTY_VAULT);
    await other.keeper.refresh();
    expect(other.keeper.vault()).toEqual(scene.keeper.vault());
  });

  it('tells of changes by whomever', async () => {
    const scene = await openScene();
    const other = await scene.another();
    const heard: string[] = [];
    other.keeper.onChange(() => heard.push(other.keeper.vault().active?.secret ?? 'none'));
    await other.keeper.move('x', ALICE, put('own'));
    await scene.keeper.refresh();
    await scene.keeper.move('x', ALICE, put('foreign'));
    await other.keeper.refresh();
    expect(heard).toEqual(['own', 'foreign']);
  });

  it('has no active token when its time is over, and no previous one', async () => {
    const { keeper, clock } = await openScene();
    const day = 86_400_000;
    const at = (days: number) => new Date(NOW + days * day).toISOString();
    await keeper.move('x', ALICE, (vault) => activate(stage(vault, token('one', at(1))), true, NOW));
    await keeper.move('x', ALICE, (vault) => activate(stage(vault, token('two', at(2))), true, NOW));
    expect(secretsIn({ keeper })).toEqual({ active: 'two', pending: null, previous: 'one' });
    clock.pass(day);
    expect(secretsIn({ keeper })).toEqual({ active: 'two', pending: null, previous: null });
    clock.pass(day);
    expect(keeper.active).toThrow(
      expect.objectContaining({ code: 'credential_unavailable', message: 'the active token has expired' }),
    );
    // It is still shown, so that an operator sees what happened.
    expect(keeper.vault().active?.secret).toBe('two');
  });
});

describe('two replicas that move it at once', () => {
  it('see what the other did before they decide', async () => {
    const scene = await openScene();
    const other = await scene.another();
    await scene.keeper.move('x', ALICE, (vault) => stage(vault, token('one')));
    const seen: (string | null)[] = [];
    await other.keeper.move('x', ALICE, (vault) => {
      seen.push(vault.pending?.secret ?? null);
      return stage(vault, token('two'));
    });
    expect(seen).toEqual([null, 'one']);
    // A decision that no longer fits is refused, not forced.
    await other.keeper.move('x', ALICE, discard);
    await expect(scene.keeper.move('x', ALICE, discard)).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('a move', () => {
  it('that changes nothing writes nothing', async () => {
    const scene = await openScene();
    await scene.keeper.move('x', ALICE, put('one'));
    const { version } = scene.registry;
    const vault = await scene.keeper.move('x', ALICE, (before) => markVerified(before, 'tok_unknown', NOW));
    expect(vault).toBe(scene.keeper.vault());
    expect(scene.registry.version).toBe(version);
    expect(await scene.actions()).toEqual(['x']);
  });

  it('that is refused writes nothing', async () => {
    const scene = await openScene();
    await expect(scene.keeper.move('x', ALICE, (vault) => rollback(vault, false, NOW))).rejects.toThrow(
      GatewayError,
    );
    expect(await scene.actions()).toEqual([]);
    expect(scene.keeper.vault()).toEqual(EMPTY_VAULT);
  });

  it('is audited with it, by whom and from where, before and after; nothing without it', async () => {
    const scene = await openScene();
    const { keeper } = scene;
    await keeper.move('token.stage', ALICE, (vault) => stage(vault, token('one')));
    await keeper.move('token.activate', GATEWAY_ACTOR, (vault) => activate(vault, true, NOW));
    await keeper.move('token.stage', ALICE, (vault) => stage(vault, token('two')));
    await keeper.move('token.discard', ALICE, discard);
    const [one, activated, two, discarded] = await scene.audit();
    const first = keeper.vault().active?.id;
    expect(one).toMatchObject({
      at: '2026-11-21T12:00:00.000Z',
      actor: 'alice',
      address: '10.0.0.1',
      action: 'token.stage',
      subject: first,
      before: { active: null, pending: null, previous: null },
      after: { active: null, pending: { id: first, source: 'staged' }, previous: null },
    });
    expect(activated).toMatchObject({
      actor: 'gateway',
      address: null,
      subject: first,
      after: { active: { id: first } },
    });
    expect(two?.subject).not.toBe(first);
    expect(discarded?.subject).toBe(two?.subject);
    const text = JSON.stringify(await scene.audit());
    expect(text).not.toMatch(/"secret"|sealed/);
  });
});
