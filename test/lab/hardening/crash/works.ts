/** What goes on while processes are killed, and what was said of it: each piece of work one step after another. */
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Backup } from '../../../../src/api/admin/registry.js';
import { admin, ask, type IssuedKey } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';
import { createDoor } from './door.js';
import { activeToken, create, type World } from './world.js';

/** What was acknowledged, and what was sent and may have happened. */
export interface Diary {
  /** The team `free` was called by these numbers: the last that was acknowledged, and the last that was sent. */
  readonly name: { acknowledged: number; sent: number };
  /** Keys by their text. In doubt: an answer to its revocation never came. */
  readonly keys: Map<string, 'valid' | 'in doubt' | 'revoked'>;
  readonly token: { acknowledged: string | null; isInDoubt: boolean };
  /** Idempotent writes by their key: the answer's body, null where none came. */
  readonly once: Map<string, string | null>;
  /** Steps that were acknowledged. */
  steps: number;
}

export function newDiary(): Diary {
  return {
    name: { acknowledged: 0, sent: 0 },
    keys: new Map(),
    token: { acknowledged: null, isInDoubt: false },
    once: new Map(),
    steps: 0,
  };
}

type Step = (gateway: Gateway) => Promise<void>;

export interface WorksOptions {
  /** From 0 to 1, by seed. */
  readonly chance: () => number;
  /** Whether the registry is imported, too: not where others change it, for an import takes that back. */
  readonly imports: boolean;
}

/** @returns stops them when each has ended its step */
export function startWorks(
  world: World,
  diary: Diary,
  { chance, imports }: WorksOptions,
): () => Promise<void> {
  let going = true;
  const anyOne = () => world.gateways[Math.floor(chance() * world.gateways.length)] as Gateway;
  const loops = worksOf(world, diary, imports).map(async (step) => {
    while (going) {
      try {
        await step(anyOne());
        diary.steps += 1;
      } catch {
        // Whoever asked one that was killed knows nothing of it: the diary says so already. Others are asked next.
        await pause(5);
      }
    }
  });
  return async () => {
    going = false;
    await Promise.all(loops);
  };
}

/** Imports take the place of all there is: so long after one, others change it. */
const BETWEEN_IMPORTS_MS = 150;

function worksOf(world: World, diary: Diary, imports: boolean): readonly Step[] {
  const door = createDoor();
  const together =
    (step: Step): Step =>
    (gateway) =>
      door.together(() => step(gateway));
  async function putBack(gateway: Gateway): Promise<void> {
    await door.alone(() => importChanged(gateway, world, diary));
    await pause(BETWEEN_IMPORTS_MS);
  }
  return [...changesOf(world, diary).map(together), ...(imports ? [putBack] : []), ...writesOf(world, diary)];
}

/** What is there is put in its own place, under another name of the team. */
async function importChanged(gateway: Gateway, { gateways }: World, { name }: Diary): Promise<void> {
  const exports = await Promise.all(gateways.map((one) => admin<Backup>(one, 'GET', '/registry/export')));
  const [backup] = exports as [Backup];
  // One that has not heard of the last change would take it back.
  if (!exports.every(({ records }) => isDeepStrictEqual(records, backup.records)))
    throw new Error('they know different registries');
  name.sent += 1;
  const number = name.sent;
  const records = backup.records.map(({ id, text }) =>
    id === 'team/free'
      ? { id, text: JSON.stringify({ ...JSON.parse(text), name: `n${number}` }) }
      : { id, text },
  );
  await admin(gateway, 'POST', '/registry/import', { ...backup, records, replace: true });
  name.acknowledged = number;
}

function changesOf({ sim }: World, diary: Diary): readonly Step[] {
  let last: IssuedKey | null = null;
  return [
    async function rename(gateway) {
      const { name } = diary;
      name.sent += 1;
      const number = name.sent;
      await admin(gateway, 'PATCH', '/teams/free', { name: `n${number}` });
      name.acknowledged = number;
    },
    async function changeKeys(gateway) {
      const before = last;
      last = await admin<IssuedKey>(gateway, 'POST', '/teams/free/keys', {});
      diary.keys.set(last.key, 'valid');
      if (before === null) return;
      diary.keys.set(before.key, 'in doubt');
      await admin(gateway, 'DELETE', `/keys/${before.id}`);
      diary.keys.set(before.key, 'revoked');
    },
    async function rotate(gateway) {
      const token = await sim.issueToken();
      diary.token.isInDoubt = true;
      await admin(gateway, 'POST', '/token/rotate', { token, force: true });
      diary.token.acknowledged = await activeToken(gateway);
      diary.token.isInDoubt = false;
    },
  ];
}

function writesOf({ keys }: World, diary: Diary): readonly Step[] {
  let writes = 0;
  return [
    async function writeOnce(gateway) {
      writes += 1;
      const name = `once-${writes}-${Date.now()}`;
      diary.once.set(name, null);
      const answer = await create(gateway, keys.free, name, name);
      if (answer.status === 201) diary.once.set(name, answer.text);
    },
    async function writeGuarded(gateway) {
      writes += 1;
      const { status } = await create(gateway, keys.guarded, `guarded-${writes}`);
      if (status !== 201) throw new Error(`answered ${status}`);
    },
    async function read(gateway) {
      await ask(`${gateway.data}/api/v1/report/campaigns/get?advertiserId=1&byDate=1&_period=last_7_days`, {
        key: keys.free,
      });
    },
  ];
}
