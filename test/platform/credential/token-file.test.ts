import { mkdtemp, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FileSecret, fileSecret } from '../../../src/config/secret.js';
import { createTokenFile } from '../../../src/platform/credential/token-file.js';
import { MINUTE } from '../../support/test-clock.js';
import {
  ALICE,
  type Credential,
  openScene,
  PEPPER,
  type Scene,
  secretsIn,
  staged,
} from './credential-harness.js';

const reportCalls = ({ simulator }: Scene) => simulator.calls.filter(({ path }) => path.includes('/report/'));

/** A file as Kubernetes mounts it: a link that is swapped, which no watcher of the file sees. */
async function mountToken(text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-token-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'token');
  let version = 0;
  async function put(next: string): Promise<void> {
    version += 1;
    const target = join(folder, `token-${version}`);
    await writeFile(target, next);
    await unlink(path).catch(() => {});
    await symlink(target, path);
  }
  await put(text);
  return { put, open: () => fileSecret('PLATFORM_TOKEN', path) };
}

/** A replica that follows the file; `look` is one poll of it. */
function follow(replica: Credential, file: FileSecret) {
  const { keeper, rotation, clock, log } = replica;
  const options = { keeper, rotation, pepper: () => PEPPER, clock, logger: log.logger };
  const take = createTokenFile(file, file.read(), options);
  return async () => {
    file.refresh();
    await take();
  };
}

/** A scene whose active token is in the file. */
async function openFollowing(options: Parameters<typeof openScene>[0] = {}) {
  const scene = await openScene(options);
  await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
  const mounted = await mountToken(`${scene.simulator.token}\n`);
  scene.simulator.clearCalls();
  return { scene, mounted, look: follow(scene, mounted.open()) };
}

describe('a token file that is changed', () => {
  it('is a rotation: the token is proven and activated', async () => {
    const { scene, mounted, look } = await openFollowing();
    await look();
    expect(reportCalls(scene)).toEqual([]);
    const next = scene.simulator.issueToken();
    await mounted.put(next);
    await look();
    expect(secretsIn(scene)).toEqual({ active: next, pending: null, previous: scene.simulator.token });
    expect(scene.keeper.vault().active).toMatchObject({ source: 'file', verifiedAt: expect.any(String) });
    expect((await scene.audit()).slice(-3)).toMatchObject([
      { action: 'token.stage', actor: 'gateway' },
      { action: 'token.verify', actor: 'gateway' },
      { action: 'token.activate', actor: 'gateway' },
    ]);
    await look();
    expect(reportCalls(scene)).toHaveLength(1);
    expect(scene.log.text).not.toContain(next);
  });

  it('with a token the platform refuses changes nothing but what is pending, and is not tried again', async () => {
    const { scene, mounted, look } = await openFollowing();
    await mounted.put('copied wrongly'.replace(' ', '-'));
    for (let round = 0; round < 3; round++) {
      await look();
      scene.clock.pass(10 * MINUTE);
    }
    expect(secretsIn(scene)).toMatchObject({ active: scene.simulator.token, pending: 'copied-wrongly' });
    expect(reportCalls(scene)).toHaveLength(1);
    const next = scene.simulator.issueToken();
    await mounted.put(next);
    await look();
    expect(secretsIn(scene)).toMatchObject({ active: next, pending: null });
  });

  it('with a token that cannot be proven for now is tried again after a minute', async () => {
    const { scene, mounted, look } = await openFollowing();
    const next = scene.simulator.issueToken();
    await mounted.put(next);
    scene.simulator.fault({ kind: 'status', status: 503 });
    await look();
    scene.clock.pass(MINUTE - 1);
    await look();
    expect(reportCalls(scene)).toHaveLength(1);
    expect(secretsIn(scene)).toMatchObject({ active: scene.simulator.token, pending: next });
    scene.clock.pass(1);
    await look();
    expect(secretsIn(scene)).toMatchObject({ active: next, pending: null });
  });

  it('back to a token that was in use before does not undo a rotation', async () => {
    const { scene, mounted, look } = await openFollowing();
    const next = scene.simulator.issueToken();
    await mounted.put(next);
    await look();
    await mounted.put(scene.simulator.token);
    await look();
    expect(secretsIn(scene).active).toBe(next);
    expect(scene.log.messages('warn')).toEqual([
      'the file of PLATFORM_TOKEN has a former token; the active token stays in use',
    ]);
  });

  it('to the token that an operator activated already is no news', async () => {
    const { scene, mounted, look } = await openFollowing();
    const next = scene.simulator.issueToken();
    await scene.rotation.rotate(staged(next), false, ALICE);
    const before = await scene.actions();
    await mounted.put(next);
    await look();
    expect(await scene.actions()).toEqual(before);
    expect(scene.log.messages('warn')).toEqual([]);
  });
});

describe('a token file that several replicas follow', () => {
  it('is taken up once, though the next leader looks at it again', async () => {
    const { scene, mounted, look } = await openFollowing();
    const other = await scene.another();
    const looks = [look, follow(other, mounted.open())];
    const next = scene.simulator.issueToken();
    await mounted.put(next);
    for (const poll of looks) await poll();
    expect(reportCalls(scene)).toHaveLength(1);
    for (const replica of [scene, other]) {
      await replica.keeper.refresh();
      expect(secretsIn(replica)).toEqual({ active: next, pending: null, previous: scene.simulator.token });
      expect(replica.log.messages('warn')).toEqual([]);
    }
  });

  it('is taken up by another when the first one ended half-way', async () => {
    const { scene, mounted } = await openFollowing();
    const file = mounted.open();
    const look = follow(await scene.another(), file);
    const next = scene.simulator.issueToken();
    await scene.rotation.plant({ secret: next, source: 'file', expiresAt: null }, ALICE);
    // It was killed here.
    await mounted.put(next);
    await look();
    await scene.keeper.refresh();
    expect(secretsIn(scene)).toMatchObject({ active: next, pending: null });
  });
});
