/** A data folder whose disk is full, or closed to writes, amid works and at a start. */
import { join } from 'node:path';
import { type Env, type Gateway, launchGateway, planeOf } from '../../../support/processes.js';
import { waitFor } from '../../../support/wait-for.js';
import { faultsAfter } from '../check.js';
import { newDiary, startWorks } from '../works.js';
import { openWorld, type World } from '../world.js';
import { type Found, inWorld, type Limit } from './limit.js';
import { missingTeams, others, startProbe, told, waitUntilTold } from './probe.js';
import { makeSmallDisk, type SmallDisk } from './small-disk.js';

/** Above what is kept free for changes (32 MiB), so that there is room at first. */
const DISK_MIB = 96;
const TIMES = 2;
/** The exit code of what an operator has to mend. */
const BAD_CONFIGURATION = 78;
const MADE = '201';
const REFUSED = '503 not_ready';

interface Trouble {
  begin(disk: SmallDisk): Promise<void>;
  end(disk: SmallDisk): Promise<void>;
  /** What a start has to say. */
  readonly says: RegExp;
}

const FULL: Trouble = {
  begin: (disk) => disk.fill(),
  end: (disk) => disk.free(),
  says: /full|space|ENOSPC/i,
};

const READ_ONLY: Trouble = {
  begin: (disk) => disk.setReadOnly(true),
  end: (disk) => disk.setReadOnly(false),
  says: /EROFS|read-only/i,
};

export const FULL_DISK: Limit = {
  name: 'Disk full',
  what: 'The disk of the data folder and its cache is filled by a file among changes and writes, and freed.',
  play: ({ chance }) =>
    onSmallDisk(async (disk) => inWorld(await openOn(disk), (world) => playFullDisk(world, disk, chance))),
};

export const STARTS_ON_FULL_DISK: Limit = {
  name: 'Starts on a full disk',
  what: 'A gateway is killed among changes and writes, and started on the full disk.',
  play: startsIn(FULL),
};

/** Amid works the kernel refuses it: files are open for writing. */
export const STARTS_READ_ONLY: Limit = {
  name: 'Starts on a read-only disk',
  what: 'A gateway is killed among changes and writes, and started on the disk mounted read-only.',
  play: startsIn(READ_ONLY),
};

function startsIn(trouble: Trouble): Limit['play'] {
  return ({ chance }) =>
    onSmallDisk(async (disk) =>
      inWorld(await openOn(disk), (world) => playStarts(world, disk, trouble, chance)),
    );
}

/** @returns why not, as a text, where no disk can be mounted */
async function onSmallDisk<T>(work: (disk: SmallDisk) => Promise<T>): Promise<T | string> {
  const disk = await makeSmallDisk(DISK_MIB);
  if (typeof disk === 'string') return disk;
  try {
    return await work(disk);
  } finally {
    await disk.remove();
  }
}

/** What was answered while the disk was full may not be remembered, as with a Redis that is killed: hence `either`. */
const openOn = (disk: SmallDisk) =>
  openWorld({
    ...{ name: 'Embedded, small disk', what: '', count: 1, victim: 'either' },
    env: { GATEWAY_DATA_DIR: join(disk.folder, 'data') },
  });

async function playFullDisk(world: World, disk: SmallDisk, chance: () => number): Promise<Found> {
  const diary = newDiary();
  const faults: string[] = [];
  let [worstMs, refused, reports] = [0, '', ''];
  for (let turn = 0; turn < TIMES; turn += 1) {
    const gateway = world.gateways[0] as Gateway;
    const stop = startWorks(world, diary, { chance, imports: false });
    const probe = await startProbe(world);
    try {
      await waitUntilTold(gateway, probe.changes, MADE);
      await disk.fill();
      await waitUntilTold(gateway, probe.changes, REFUSED);
      await waitUntilTold(gateway, probe.reports, '200', 10);
      const freedMs = performance.now();
      await disk.free();
      await waitUntilTold(gateway, probe.changes, MADE);
      worstMs = Math.max(worstMs, performance.now() - freedMs);
    } finally {
      await probe.stop();
      await stop();
    }
    faults.push(...probe.faults, ...others('a change', probe.changes, [MADE, REFUSED]));
    faults.push(...others('a report', probe.reports, ['200']));
    faults.push(...(await missingTeams(world, probe)), ...(await faultsAfter(world, diary)));
    [refused, reports] = [told(probe.changes), told(probe.reports)];
  }
  return {
    ...{ times: TIMES, faults },
    worst: `${Math.round(worstMs)} ms until a change was taken again`,
    note: `${diary.steps} changes and writes acknowledged; changes of the last time ${refused}; reports ${reports}`,
  };
}

/** Killed, and started in the trouble, on its folder and on a new one: it either serves, or ends and says why. */
async function playStarts(
  world: World,
  disk: SmallDisk,
  trouble: Trouble,
  chance: () => number,
): Promise<Found> {
  const diary = newDiary();
  const stop = startWorks(world, diary, { chance, imports: false });
  await waitFor('some changes', () => diary.steps > 20);
  await (world.gateways[0] as Gateway).end('SIGKILL');
  await stop();
  const [faults, said]: [string[], string[]] = [[], []];
  await trouble.begin(disk);
  for (const [what, env] of [
    ['on its folder', world.settingsOf(0)],
    ['on a new one', { ...world.settingsOf(0), GATEWAY_DATA_DIR: join(disk.folder, 'new') }],
  ] as const) {
    const { code, output } = await startAmid(env);
    said.push(`${what} ${code === null ? 'it serves' : `exit code ${code}`}`);
    if (code === null) continue;
    if (code !== BAD_CONFIGURATION) faults.push(`a start ${what} ended with ${code}: ${output}`);
    if (!trouble.says.test(output)) faults.push(`a start ${what} does not say why: ${output}`);
  }
  await trouble.end(disk);
  const freedMs = performance.now();
  await world.again(0);
  const tookMs = Math.round(performance.now() - freedMs);
  faults.push(...(await faultsAfter(world, diary)));
  return {
    ...{ times: said.length, faults, note: `started ${said.join(', ')}` },
    worst: `${tookMs} ms for a start afterwards`,
  };
}

/** @returns how it ended, null where it serves and was stopped */
async function startAmid(env: Env): Promise<{ code: number | string | null; output: string }> {
  const started = await launchGateway(env);
  let hasEnded = false;
  const exited = started.exited.finally(() => {
    hasEnded = true;
  });
  await waitFor('a start or its end', () => hasEnded || planeOf(started, 'data') !== undefined);
  const serves = !hasEnded;
  if (serves) await started.end('SIGTERM');
  const { code, signal } = await exited;
  const output = (started.stderr + started.stdout).slice(-600);
  return { code: serves ? null : (code ?? signal), output };
}
