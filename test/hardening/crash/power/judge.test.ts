import { expect, it } from 'vitest';
import { type Diary, newDiary } from '../works.js';
import { CREATE } from '../world.js';
import { keptDiary } from './diary.js';
import { type Found, faultsOfFound } from './judge.js';
import { pointOf } from './points.js';
import { whyNoStrace } from './record.js';

const call = (name: string, at = 0) => ({
  ...{ at, method: 'POST', path: CREATE, url: CREATE, headers: {}, status: 201 },
  body: JSON.stringify({ name }),
});

const diary: Diary = {
  name: { acknowledged: 7, sent: 8 },
  keys: new Map([
    ['dgw_aaaaaa111', 'valid'],
    ['dgw_bbbbbb222', 'revoked'],
  ]),
  token: { acknowledged: 't1', isInDoubt: false },
  once: new Map([['once-1', '{"id":1}']]),
  steps: 5,
};
const expected = { diary, calls: [call('once-1'), call('guarded-1')] };

const key = (prefix: string, revokedAt: string | null) =>
  JSON.stringify({ revokedAt, secrets: [{ prefix }] });
const whole: Found = {
  records: {
    'team/free': '{"name":"n7"}',
    'key/1': key('dgw_aaaaaa', null),
    'key/2': key('dgw_bbbbbb', '2026-11-23T00:00:00Z'),
    vault: '{"active":{"id":"t1"}}',
  },
  documents: {
    'once-1': JSON.stringify({
      fate: { state: 'answered', answer: { body: Buffer.from('{"id":1}').toString('base64') } },
    }),
  },
  charged: 10,
  told: ['the cache on the disk is damaged, and begins empty'],
};

it('finds nothing where all is there, and names what is not', () => {
  expect(faultsOfFound(whole, expected)).toEqual([]);
  const records = {
    'team/free': '{"name":"n6"}',
    'key/2': key('dgw_bbbbbb', null),
    vault: '{"active":{"id":"t0"}}',
  };
  const told = ['the history on the disk is damaged'];
  expect(faultsOfFound({ records, documents: { 'once-1': null }, charged: 0, told }, expected)).toEqual([
    'the name is n6, n7 was acknowledged, n8 sent',
    'a valid key is not',
    'a revoked key is valid',
    'the token t1 is not active',
    'once-1 was answered, and its record is not there',
    'once-1 had been sent, and has no record',
    '1 guarded writes were sent, and 0 charged',
    'the history on the disk is damaged',
  ]);
});

it('keeps what was acknowledged at each step, as it was then', () => {
  const kept = keptDiary();
  kept.diary.name.acknowledged = 1;
  kept.diary.steps += 1;
  kept.diary.name.acknowledged = 2;
  kept.diary.steps += 1;
  expect(kept.moments.map(({ diary: { name, steps } }) => [name.acknowledged, steps])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

it('loses power just after an answer, and takes for certain what no later moment contradicts', () => {
  const at = (ms: number, changes: Partial<Diary>) => ({ ms, diary: { ...newDiary(), ...changes } });
  const later = at(1020, {
    steps: 2,
    keys: new Map([['k1', 'in doubt']]),
    name: { acknowledged: 1, sent: 9 },
  });
  const recorded = {
    trace: {
      calls: [],
      length: 40,
      sent: [
        { at: 10, ms: 999 },
        { at: 20, ms: 1009.5 },
        { at: 30, ms: 1019 },
      ],
    },
    moments: [
      at(1000, {
        steps: 1,
        keys: new Map([
          ['k1', 'valid'],
          ['k2', 'valid'],
        ]),
      }),
      later,
      at(1030, { ...later.diary }),
    ],
    last: { ...later.diary, steps: 3 },
    calls: [call('early', 997), call('late', 998.5)],
  };
  // Not anywhere; the first moment.
  const chances = [0.9, 0];
  const point = pointOf(recorded, () => chances.shift() ?? 0);
  expect(point.at).toBe(10);
  expect(point.calls.map(({ body }) => body)).toEqual(['{"name":"early"}']);
  expect(point.diary).toMatchObject({ steps: 1, name: { acknowledged: 0, sent: 9 } });
  expect([...point.diary.keys]).toEqual([
    ['k1', 'in doubt'],
    ['k2', 'in doubt'],
  ]);
});

it('says why nothing is recorded where there is no strace', async () => {
  expect(await whyNoStrace('no-such-strace')).toBe(
    'no-such-strace cannot watch here: spawn no-such-strace ENOENT',
  );
});
