/**
 * A consumer of the feed of changes, which applies its messages by key. At rest it has exactly the newest revisions that history
 * shows, whatever went wrong meanwhile.
 */
import { decodeEarlier, decodeMonth } from '../../src/reports/days/month.js';
import { monthsOf } from '../../src/reports/days/whole-month.js';
import { changesOf } from '../../src/reports/feed/month-changes.js';
import type { MemoryServer } from '../support/memory/memory-store.js';
import { ask } from './readers.js';
import { lapse, type WorldOfSeed } from './world.js';

const CHANGES = '/gateway/v1/changes';
/** At rest: the leader tells what others left. */
const LOOKS = 30;

interface Message {
  readonly key: string;
  readonly value?: { readonly revision: string };
  readonly headers: { readonly operation: string };
}

export interface Follower {
  /** Revision by key. */
  readonly state: Map<string, string>;
  offset: string;
}

export const createFollower = (): Follower => ({ state: new Map(), offset: '-1' });

/** Follows the feed at any replica, until then. */
export async function follow(world: WorldOfSeed, untilMs: number, follower: Follower): Promise<void> {
  const { scheduler, readChance: chance } = world;
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(20, 800));
    await readOn(world, follower);
  }
}

/** @returns whether it has read to the end */
async function readOn(world: WorldOfSeed, follower: Follower): Promise<boolean> {
  const url = `${CHANGES}?offset=${follower.offset}`;
  const given = await ask(world, 'changes', 'all', { url });
  if (given?.code === 'cursor_too_old') {
    if (follower.offset === '-1') throw new Error('the feed refused to be read from its begin');
    // Nothing is trimmed here: all that the feed has from its begin on is all that history has.
    follower.state.clear();
    follower.offset = '-1';
  }
  if (given?.status !== 200) return false;
  for (const { key, value, headers } of JSON.parse(given.text) as readonly Message[])
    if (headers.operation === 'delete') follower.state.delete(key);
    else if (value !== undefined) follower.state.set(key, value.revision);
  follower.offset = String(given.headers['stream-next-offset']);
  return given.headers['stream-up-to-date'] === 'true';
}

/** To be called when nothing is under way any more. @throws what is wrong with what the consumer has */
export async function followedAll(
  world: WorldOfSeed,
  server: MemoryServer,
  follower: Follower,
): Promise<void> {
  const faultsNow = async () => {
    while (!(await readOn(world, follower))) await lapse(world, 200);
    return differences(follower.state, await newestIn(world, server));
  };
  let faults = await faultsNow();
  for (let looks = 0; looks < LOOKS && faults.length > 0; looks += 1) {
    await lapse(world, 1_000);
    faults = await faultsNow();
  }
  if (faults.length > 0) throw new Error(`a consumer of the feed has other days: ${faults.join(', ')}`);
}

function differences(state: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>): string[] {
  return [...new Set([...state.keys(), ...wanted.keys()])].flatMap((key) => {
    const [has, should] = [state.get(key), wanted.get(key)];
    return has === should ? [] : [`${key} is ${has}, not ${should}`];
  });
}

/** The newest revision of each day that history shows, by key of the feed. */
async function newestIn(
  { replicas }: WorldOfSeed,
  server: MemoryServer,
): Promise<ReadonlyMap<string, string>> {
  const learner = [...replicas.values()][0]?.services.reporting.reports.learner;
  const { days } = server.handle();
  const newest = new Map<string, string>();
  for await (const place of monthsOf(days)) {
    const stored = await days.whole(place);
    const month = stored?.index ? decodeMonth(stored.index) : null;
    if (stored === null || month === null || month.report === null) continue;
    const told = learner?.provenGeneration(month.report.kind, month.report.endpoint) ?? null;
    const before = new Map(
      [...stored.earlier].map(([day, bytes]) => [day, bytes === null ? [] : (decodeEarlier(bytes) ?? [])]),
    );
    const nothing = { days: new Map(), before: new Map(), told };
    for (const { day, revision } of changesOf(nothing, { ...month, before, told }))
      if (revision !== null)
        newest.set(`${place.series.slice(0, 22)} ${place.month}-${String(day).padStart(2, '0')}`, revision);
  }
  return newest;
}
