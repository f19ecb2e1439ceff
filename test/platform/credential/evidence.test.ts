import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { ALICE, openScene, type Scene, staged } from './credential-harness.js';

/** A scene with an active token that nobody has proven. */
async function openUnproven(): Promise<Scene & { readonly id: string }> {
  const scene = await openScene({ probe: null });
  await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
  return { ...scene, id: scene.keeper.vault().active?.id ?? '' };
}

describe('what the platform said of the active token', () => {
  it('is nothing at first, then what it said last, whatever time passes', async () => {
    const { evidence, id, clock } = await openUnproven();
    expect(evidence.proof()).toBe('unproven');
    for (const said of ['accepted', 'refused', 'accepted', 'refused'] as const) {
      evidence.note(id, said);
      clock.pass(24 * 3_600_000);
      expect(evidence.proof()).toBe(said);
      await evidence.flush();
      expect(evidence.proof()).toBe(said);
    }
  });

  it('is known to other replicas, and to one that is started later', async () => {
    const scene = await openUnproven();
    const other = await scene.another();
    scene.evidence.note(scene.id, 'refused');
    expect(other.evidence.proof()).toBe('unproven');
    await scene.evidence.flush();
    await other.keeper.refresh();
    expect(other.evidence.proof()).toBe('refused');
    expect((await scene.another()).evidence.proof()).toBe('refused');
    // Evidence of another replica counts as much as one's own.
    other.evidence.note(scene.id, 'accepted');
    await other.evidence.flush();
    await scene.keeper.refresh();
    expect(scene.evidence.proof()).toBe('accepted');
  });

  it('outlives the process that heard it, which is killed before its next flush', async () => {
    const scene = await openUnproven();
    const written = new Promise<void>((resolve) => scene.keeper.onChange(resolve));
    scene.evidence.note(scene.id, 'accepted');
    await written;
    expect((await scene.another()).evidence.proof()).toBe('accepted');
  });

  it('outlives it also where it was said while the word before was being written', async () => {
    const scene = await openUnproven();
    scene.evidence.note(scene.id, 'refused');
    scene.evidence.note(scene.id, 'accepted');
    await scene.evidence.flush();
    expect(scene.keeper.vault().active).toMatchObject({ refusedAt: null, verifiedAt: expect.any(String) });
    expect((await scene.another()).evidence.proof()).toBe('accepted');
  });

  it('is written once for each change, with a line in the audit and an error in the log for a refusal', async () => {
    const scene = await openUnproven();
    const before = (await scene.actions()).length;
    for (const said of ['accepted', 'accepted', 'refused', 'refused'] as const) {
      scene.evidence.note(scene.id, said);
      await scene.evidence.flush();
    }
    expect((await scene.actions()).slice(before)).toEqual(['token.accepted', 'token.refused']);
    expect(scene.log.messages('error')).toEqual([
      expect.stringContaining('the platform refuses the active token'),
    ]);
  });

  it('is not said of another token that took its place, nor held against it', async () => {
    const scene = await openUnproven();
    scene.evidence.note(scene.id, 'refused');
    await scene.rotation.rotate(staged(scene.simulator.issueToken()), true, ALICE);
    await scene.evidence.flush();
    expect(scene.evidence.proof()).toBe('unproven');
    scene.evidence.note(scene.id, 'accepted');
    expect(scene.evidence.proof()).toBe('unproven');
    const { active, previous } = scene.keeper.vault();
    expect([active?.refusedAt, previous?.id]).toEqual([null, scene.id]);
  });

  it('is known here while the store is away, and written when it is back', async () => {
    const scene = await openUnproven();
    const { commit } = scene.store.registry;
    let away = true;
    scene.store.registry.commit = (change) =>
      away ? Promise.reject(new StoreUnavailable('away')) : commit.call(scene.store.registry, change);
    scene.evidence.note(scene.id, 'refused');
    await expect(scene.evidence.flush()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(scene.evidence.proof()).toBe('refused');
    away = false;
    await scene.evidence.flush();
    expect(scene.keeper.vault().active?.refusedAt).toEqual(expect.any(String));
  });
});
