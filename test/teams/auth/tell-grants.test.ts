/** Changes of the lists of advertisers, told to their teams. */
import { expect, it } from 'vitest';
import { decodeEntry } from '../../../src/reports/feed/entry.js';
import type { Told } from '../../../src/store/changes-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { completeTeam, type Team } from '../../../src/teams/auth/team.js';
import { createTellGrants } from '../../../src/teams/auth/tell-grants.js';
import { openInMemory } from '../../support/shared-registry.js';

async function open() {
  const { documents } = await openInMemory();
  let teams: Team[] = [];
  let life = 0;
  let told: string[] = [];
  let isAway = false;
  const changes = {
    async append({ text, count }: Told) {
      if (isAway) throw new StoreUnavailable();
      const entry = decodeEntry(text);
      if (entry?.type !== 'grants') throw new Error(`no grants: ${text}`);
      const list = [...entry.given.map((one) => `+${one}`), ...entry.taken.map((one) => `-${one}`)];
      expect(count).toBe(list.length);
      told.push(`${entry.team} ${list.join()}`);
    },
  };
  const directory = { teams: () => teams, life: () => life };
  const lead = () => {
    const job = createTellGrants({ directory, changes, documents, now: () => 7 });
    return () => job(() => false);
  };
  return {
    lead,
    /** By team. */
    lists(all: Record<string, Team['advertisers']>) {
      teams = Object.entries(all).map(([id, advertisers]) => completeTeam({ id, advertisers }));
    },
    createAgain() {
      life += 1;
    },
    goAway(is: boolean) {
      isAway = is;
    },
    /** Since the last call. */
    told() {
      const all = told;
      told = [];
      return all;
    },
  };
}

it('a team whose list changes is told what it got and what it lost, once; others are told nothing', async () => {
  const { lead, lists, told } = await open();
  const job = lead();
  lists({ a: [1, 2], b: [1] });
  await job();
  expect(told()).toEqual([]);
  lists({ a: [2, 3], b: [1] });
  await job();
  expect(told()).toEqual(['a +3,-1']);
  await job();
  lists({ a: [3, 2], b: [1] });
  await job();
  expect(told()).toEqual([]);
});

it('a new leader tells what changed while none led, and not what a former one told', async () => {
  const { lead, lists, told } = await open();
  lists({ a: [1] });
  const [first, second] = [lead(), lead()];
  await first();
  lists({ a: [1, 2] });
  await second();
  await first();
  expect(told()).toEqual(['a +2']);
  lists({ a: [] });
  await lead()();
  expect(told()).toEqual(['a -1,-2']);
});

it('what could not be told is told later', async () => {
  const { lead, lists, told, goAway } = await open();
  const job = lead();
  lists({ a: [1] });
  await job();
  lists({ a: [] });
  goAway(true);
  await job();
  expect(told()).toEqual([]);
  goAway(false);
  await job();
  expect(told()).toEqual(['a -1']);
});

it('a team that gets or loses all advertisers is told nothing, and afterwards each change of its list', async () => {
  const { lead, lists, told } = await open();
  const job = lead();
  for (const list of [[1], '*', [2]] as const) {
    lists({ a: list });
    await job();
  }
  expect(told()).toEqual([]);
  lists({ a: [2, 3] });
  await job();
  expect(told()).toEqual(['a +3']);
});

it('a team that was deleted and created again begins anew', async () => {
  const { lead, lists, told, createAgain } = await open();
  const job = lead();
  lists({ a: [1] });
  await job();
  lists({});
  await job();
  createAgain();
  lists({ a: [2] });
  await job();
  expect(told()).toEqual([]);
});

it('a long list is told in several entries', async () => {
  const { lead, lists, told } = await open();
  const job = lead();
  lists({ a: [] });
  await job();
  lists({ a: Array.from({ length: 1100 }, (_, at) => at + 1) });
  await job();
  const counts = told().map((one) => one.split(',').length);
  expect(new Set(counts)).toEqual(new Set([50]));
  expect(counts).toHaveLength(22);
});
