import { describe, expect, it } from 'vitest';
import { startHttpPlatform } from '../../support/raw-platform.js';
import { ALICE, openScene, PROBE, type Scene, secretsIn, staged } from './credential-harness.js';

/** A scene whose active token is the simulated platform's own. */
async function openActive(options: Parameters<typeof openScene>[0] = {}): Promise<Scene> {
  const scene = await openScene(options);
  await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
  return scene;
}

describe('the steps of a rotation', () => {
  it('lead from one token to the next, and back', async () => {
    const scene = await openActive();
    const { rotation, simulator } = scene;
    const first = simulator.token;
    const second = simulator.issueToken();
    await rotation.stage(staged(second), ALICE);
    expect(secretsIn(scene)).toEqual({ active: first, pending: second, previous: null });
    await expect(rotation.activate(false, ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
      status: 409,
    });
    expect((await rotation.verify(ALICE)).pending?.verifiedAt).toBe('2026-11-21T12:00:00.000Z');
    await rotation.activate(false, ALICE);
    expect(secretsIn(scene)).toEqual({ active: second, pending: null, previous: first });
    await rotation.rollback(false, ALICE);
    expect(secretsIn(scene)).toEqual({ active: first, pending: null, previous: second });
    await rotation.rollback(false, ALICE);
    await rotation.stage(staged('third'), ALICE);
    await rotation.discard(ALICE);
    expect(secretsIn(scene)).toEqual({ active: second, pending: null, previous: first });
    expect((await scene.actions()).slice(3)).toEqual([
      'token.stage',
      // Refused.
      'token.activate',
      'token.verify',
      'token.activate',
      'token.rollback',
      'token.rollback',
      'token.stage',
      'token.discard',
    ]);
  });
});

it('a step that is refused is in the audit, with its reason', async () => {
  const scene = await openScene();
  const { rotation } = scene;
  await expect(rotation.rollback(false, ALICE)).rejects.toMatchObject({ status: 409 });
  await expect(rotation.activate(false, ALICE)).rejects.toMatchObject({ status: 409 });
  const { pending } = await rotation.stage(staged('new'), ALICE);
  await expect(rotation.activate(false, ALICE)).rejects.toMatchObject({ status: 409 });
  const failed = (reason: string) => ({ failed: true, reason });
  expect((await scene.audit()).map(({ action, subject, after }) => [action, subject, after])).toMatchObject([
    ['token.rollback', 'vault', failed('There is no previous token to go back to.')],
    ['token.activate', 'vault', failed('There is no pending token.')],
    ['token.stage', pending?.id, {}],
    ['token.activate', pending?.id, failed('The pending token is not verified.')],
  ]);
});

describe('a rollback', () => {
  async function rotated() {
    const scene = await openActive();
    await scene.rotation.rotate(staged(scene.simulator.issueToken()), false, ALICE);
    const { active, previous } = scene.keeper.vault();
    return { ...scene, active, previous };
  }

  it('calls the platform with the previous token, and tells when it accepted it', async () => {
    const { rotation, simulator, previous, clock } = await rotated();
    clock.advance(60_000);
    simulator.clearCalls();
    const { active } = await rotation.rollback(false, ALICE);
    expect(simulator.calls.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${previous?.secret}`,
    ]);
    expect(active).toMatchObject({ id: previous?.id, verifiedAt: '2026-11-21T12:01:00.000Z' });
  });

  it('to a token that the platform has revoked meanwhile is refused and audited, and the active one stays', async () => {
    const scene = await rotated();
    const { rotation, simulator, keeper, active, previous } = scene;
    simulator.revoke(previous?.secret);
    const detail = `The platform refused the previous token ${previous?.fingerprint}; the active token stays in use.`;
    await expect(rotation.rollback(false, ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
      options: { detail, help: expect.stringContaining('"force": true') },
    });
    expect(keeper.vault()).toMatchObject({ active, previous: { refusedAt: '2026-11-21T12:00:00.000Z' } });
    const last = (await scene.audit()).slice(-2);
    expect(last.map(({ action, subject }) => [action, subject])).toEqual([
      ['token.refused', previous?.id],
      ['token.rollback', previous?.id],
    ]);
    expect(last[1]?.after).toEqual({ failed: true, reason: detail });
    const forced = await rotation.rollback(true, ALICE);
    expect(forced.active).toMatchObject({ id: previous?.id, refusedAt: '2026-11-21T12:00:00.000Z' });
  });

  it('while the platform fails is refused; by force the token is active, and not verified', async () => {
    const { rotation, simulator, keeper, active, previous } = await rotated();
    simulator.fault({ kind: 'status', status: 503, times: 2 });
    await expect(rotation.rollback(false, ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
      options: {
        detail: `The previous token ${previous?.fingerprint} could not be verified (the platform answered the probe with status 503); the active token stays in use.`,
      },
    });
    expect(keeper.vault()).toMatchObject({ active, previous });
    const forced = await rotation.rollback(true, ALICE);
    expect(forced.active).toMatchObject({ id: previous?.id, verifiedAt: null, refusedAt: null });
  });
});

describe('a verification', () => {
  it('asks the platform with the pending token', async () => {
    const { rotation, simulator } = await openActive();
    const second = simulator.issueToken();
    await rotation.stage(staged(second), ALICE);
    simulator.clearCalls();
    await rotation.verify(ALICE);
    expect(simulator.calls.map(({ method, headers }) => [method, headers.authorization])).toEqual([
      ['GET', `Bearer ${second}`],
    ]);
  });

  it.each([
    ['a refusal', 401, 'The platform refused the token; the active token stays in use.'],
    ['a failure', 500, 'could not be verified (the platform answered the probe with status 500)'],
    ['another refusal', 403, 'could not be verified (the platform answered the probe with status 403)'],
  ])('fails on %s, and the token stays pending and unverified', async (_what, status, detail) => {
    const scene = await openActive();
    await scene.rotation.stage(staged('second'), ALICE);
    scene.simulator.fault({ kind: 'status', status });
    const error = await scene.rotation.verify(ALICE).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'verification_failed', status: 409 });
    expect((error as { options: { detail: string } }).options.detail).toContain(detail);
    expect(scene.keeper.vault().pending).toMatchObject({ secret: 'second', verifiedAt: null });
    expect((await scene.actions()).at(-1)).toBe('token.verify');
  });

  it('that fails tells that the platform refuses the active token too', async () => {
    const { rotation, keeper } = await openActive();
    const refusedAt = '2026-11-21T11:00:00.000Z';
    await keeper.move('token.refused', ALICE, (vault) => ({
      ...vault,
      active: vault.active && { ...vault.active, refusedAt },
    }));
    await rotation.stage(staged('second'), ALICE);
    const detail =
      'The platform refused the token; the active token stays in use, which the platform refuses too.';
    await expect(rotation.verify(ALICE)).rejects.toMatchObject({ options: { detail } });
  });

  it('without a probe proves nothing for a pasted token, and a minted one is fresh from the platform', async () => {
    const scene = await openScene({ probe: null });
    await scene.rotation.stage(staged('pasted'), ALICE);
    await expect(scene.rotation.verify(ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
      options: { detail: expect.stringContaining('set PLATFORM_PROBE') },
    });
    // No call, no failure.
    expect(await scene.actions()).not.toContain('token.verify');
    await scene.rotation.mint(ALICE);
    expect((await scene.rotation.verify(ALICE)).pending?.verifiedAt).not.toBeNull();
  });

  it('of the first token asks for what a team may see, where nothing was ever asked for', async () => {
    const gone = PROBE.replace('advertiserId=1', 'advertiserId=987654321');
    const scene = await openScene({ probe: null, mint: null, guesses: [gone, PROBE] });
    const first = scene.simulator.issueToken();
    await scene.rotation.stage(staged(first), ALICE);
    expect((await scene.rotation.verify(ALICE)).pending?.verifiedAt).not.toBeNull();
    await scene.rotation.stage(staged('junk'), ALICE);
    await expect(scene.rotation.verify(ALICE)).rejects.toMatchObject({
      options: { detail: 'The platform refused the token; no token is active.' },
    });
  });

  it('asks for nothing new where nobody but a start wants to know, or the platform has just handed it out', async () => {
    const scene = await openScene({ probe: null, guesses: [PROBE] });
    const { pending } = await scene.rotation.stage(staged(scene.simulator.issueToken()), ALICE);
    scene.simulator.clearCalls();
    await expect(scene.rotation.verify(ALICE, pending?.id, false)).rejects.toMatchObject({
      code: 'verification_failed',
    });
    await scene.rotation.mint(ALICE);
    await scene.rotation.verify(ALICE);
    expect(scene.simulator.calls.filter(({ method }) => method === 'GET')).toEqual([]);
  });

  it('does not vouch for a token that took the place of the one it asked with', async () => {
    const scene = await openActive();
    const other = await scene.another();
    let asked = () => {};
    const arrived = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let go = () => {};
    const slow = await startHttpPlatform((_request, response) => {
      asked();
      go = () => void response.end('{}');
    });
    const verifying = await scene.another({ baseUrl: slow.url });
    await verifying.rotation.stage(staged('good'), ALICE);
    const verification = verifying.rotation.verify(ALICE).catch((error: unknown) => error);
    await arrived;
    await other.keeper.refresh();
    await other.rotation.stage(staged('never proven'), ALICE);
    go();
    expect(await verification).toMatchObject({ code: 'conflict' });
    await verifying.keeper.refresh();
    expect(verifying.keeper.vault().pending).toMatchObject({ secret: 'never proven', verifiedAt: null });
  });
});

describe('a minted token', () => {
  it('is staged with the lifetime the platform gave it', async () => {
    const scene = await openActive({ switches: { tokenTtlSeconds: 3600 } });
    const vault = await scene.rotation.mint(ALICE);
    expect(vault.pending).toMatchObject({
      source: 'minted',
      expiresAt: '2026-11-21T13:00:00.000Z',
      expiryKnown: true,
      verifiedAt: null,
    });
    expect(vault.active?.secret).toBe(scene.simulator.token);
    expect(scene.mints()).toBe(1);
  });

  it('is not to be had without a token request, which says what to set', async () => {
    const { rotation } = await openScene({ mint: null });
    await expect(rotation.mint(ALICE)).rejects.toMatchObject({
      code: 'conflict',
      options: { help: expect.stringContaining('PLATFORM_CLIENT_SECRET') },
    });
  });

  it('that is the active one once more changes nothing but a later expiry', async () => {
    let expiresInS: number | null = 1000;
    const scene = await openScene({
      mint: async () => ({ secret: 'always the same', expiresInS }),
      probe: null,
    });
    const first = await scene.rotation.rotate(null, false, ALICE);
    for (const same of [1000, 500]) {
      expiresInS = same;
      expect(await scene.rotation.mint(ALICE)).toEqual(first);
      expect(await scene.rotation.rotate(null, false, ALICE)).toEqual(first);
    }
    const before = await scene.actions();
    expiresInS = 2000;
    const { active, pending } = await scene.rotation.rotate(null, false, ALICE);
    expect(active).toEqual({ ...first.active, expiresAt: '2026-11-21T12:33:20.000Z' });
    expect(pending).toBeNull();
    expect(await scene.actions()).toEqual([...before, 'token.mint']);
  });
});

describe('a rotation in one', () => {
  it('stages, verifies and activates', async () => {
    const scene = await openActive();
    const second = scene.simulator.issueToken();
    const vault = await scene.rotation.rotate(staged(second, '2027-01-01T00:00:00.000Z'), false, ALICE);
    expect(secretsIn(scene)).toEqual({ active: second, pending: null, previous: scene.simulator.token });
    expect(vault.active).toMatchObject({
      expiresAt: '2027-01-01T00:00:00.000Z',
      verifiedAt: '2026-11-21T12:00:00.000Z',
    });
    expect((await scene.actions()).slice(-3)).toEqual(['token.stage', 'token.verify', 'token.activate']);
  });

  it('mints when no token is given', async () => {
    const scene = await openActive();
    await scene.rotation.rotate(null, false, ALICE);
    expect(scene.keeper.vault().active?.source).toBe('minted');
    expect(scene.keeper.vault().previous?.secret).toBe(scene.simulator.token);
    expect((await scene.actions()).slice(-3)).toEqual(['token.mint', 'token.verify', 'token.activate']);
  });

  it('with a token that cannot be verified leaves the active one, and none pending', async () => {
    const scene = await openActive();
    const { active } = scene.keeper.vault();
    await expect(scene.rotation.rotate(staged('wrong'), false, ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
    });
    expect(scene.keeper.vault()).toMatchObject({ active, pending: null, previous: null });
    expect((await scene.actions()).slice(-3)).toEqual(['token.stage', 'token.verify', 'token.discard']);
    // The same when it was minted, and the probe cannot tell.
    scene.simulator.fault({ kind: 'status', status: 503, path: '/report/' });
    await expect(scene.rotation.rotate(null, false, ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
    });
    expect(scene.keeper.vault()).toMatchObject({ active, pending: null, previous: null });
  });

  it('with force activates whatever it is, and the audit has that it was not proven', async () => {
    const scene = await openActive();
    const { active } = await scene.rotation.rotate(staged('unproven'), true, ALICE);
    expect(active).toMatchObject({ secret: 'unproven', verifiedAt: null });
    expect((await scene.actions()).slice(-3)).toEqual(['token.stage', 'token.verify', 'token.activate']);
  });

  it('does not activate an expired token, not even by force', async () => {
    const scene = await openActive();
    const expired = staged('old', '2026-11-21T12:00:00.000Z');
    await expect(scene.rotation.rotate(expired, true, ALICE)).rejects.toMatchObject({ code: 'conflict' });
    expect(scene.keeper.active().secret).toBe(scene.simulator.token);
  });

  it('with a token request that fails changes nothing', async () => {
    const scene = await openActive();
    const before = scene.keeper.vault();
    scene.simulator.fault({ kind: 'status', status: 500, path: '/oauth/token' });
    await expect(scene.rotation.rotate(null, false, ALICE)).rejects.toMatchObject({
      code: 'credential_unavailable',
    });
    expect(scene.keeper.vault()).toEqual(before);
  });

  it("never touches another's pending token when the platform hands out the active one once more", async () => {
    const scene = await openScene({
      mint: async () => ({ secret: 'always the same', expiresInS: null }),
      probe: null,
    });
    await scene.rotation.rotate(null, false, ALICE);
    await scene.rotation.stage(staged("an operator's, not proven"), ALICE);
    const before = scene.keeper.vault();
    expect(await scene.rotation.rotate(null, true, ALICE)).toEqual(before);
  });

  it('activates its own token or none, when two are made at once', async () => {
    const scene = await openActive();
    const other = await scene.another();
    const [second, third] = [scene.simulator.issueToken(), scene.simulator.issueToken()];
    const outcomes = await Promise.allSettled([
      scene.rotation.rotate(staged(second), false, ALICE),
      other.rotation.rotate(staged(third), false, ALICE),
    ]);
    await Promise.all([scene.keeper.refresh(), other.keeper.refresh()]);
    for (const [index, outcome] of outcomes.entries()) {
      const own = [second, third][index];
      if (outcome.status === 'fulfilled') expect(outcome.value.active?.secret).toBe(own);
      else expect(outcome.reason).toMatchObject({ code: 'conflict' });
    }
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    const { active, pending } = scene.keeper.vault();
    expect([second, third]).toContain(active?.secret);
    expect(pending).toBeNull();
    expect(active?.verifiedAt).not.toBeNull();
  });
});

describe('a rotation while the platform does not answer', () => {
  it('keeps a given token pending, and activates nothing', async () => {
    const silent = await startHttpPlatform(() => {});
    const scene = await openScene({ baseUrl: silent.url, timeoutMs: 20 });
    await expect(scene.rotation.rotate(staged('next'), false, ALICE)).rejects.toMatchObject({
      code: 'verification_failed',
      options: {
        detail: 'The platform did not answer within 0.02 s; the token is pending, nothing was activated.',
        help: expect.stringContaining('POST /admin/v1/token/verify'),
      },
    });
    expect(secretsIn(scene)).toEqual({ active: null, pending: 'next', previous: null });
  });

  it('discards a minted token, which blocks no later renewal', async () => {
    const silent = await startHttpPlatform(() => {});
    const mint = async () => ({ secret: 'minted', expiresInS: null });
    const scene = await openScene({ baseUrl: silent.url, timeoutMs: 20, mint });
    await expect(scene.rotation.rotate(null, false, ALICE)).rejects.toMatchObject({
      options: { detail: expect.stringMatching(/ the new token was discarded, nothing was activated\.$/) },
    });
    expect(secretsIn(scene)).toEqual({ active: null, pending: null, previous: null });
  });

  it('ends at its limit when calls take long one after another, whatever they answer later', async () => {
    const scene = await openScene({ compare: () => new Promise(() => {}), timeoutMs: 10_000, limitMs: 20 });
    await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
    const next = scene.simulator.issueToken();
    await expect(scene.rotation.rotate(staged(next), false, ALICE)).rejects.toMatchObject({
      options: { detail: expect.stringContaining('the token is pending, nothing was activated') },
    });
    expect(secretsIn(scene)).toMatchObject({ active: scene.simulator.token, pending: next });
  });

  it.each([false, true])(
    'activates nothing after its caller has gone, also with force: %s',
    async (force) => {
      const gone = new AbortController();
      const scene = await openActive();
      const first = scene.simulator.token;
      const slow = await startHttpPlatform((_request, response) => {
        gone.abort();
        response.end('{}');
      });
      const rotating = await scene.another({ baseUrl: slow.url });
      await expect(rotating.rotation.rotate(staged('next'), force, ALICE, gone.signal)).rejects.toMatchObject(
        {
          options: {
            detail: expect.stringMatching(/caller has closed the connection; the token is pending/),
          },
        },
      );
      await scene.keeper.refresh();
      expect(secretsIn(scene)).toMatchObject({ active: first, pending: 'next' });
    },
  );
});
