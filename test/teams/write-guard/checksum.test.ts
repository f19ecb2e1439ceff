import { expect, it } from 'vitest';
import { checksumOf } from '../../../src/teams/write-guard/check-write.js';

it('is another one for another team, method, path, query or byte', () => {
  const of = {
    team: 'growth',
    method: 'POST',
    target: '/api/v1/campaign/create',
    body: Buffer.from('{"a":1}'),
  };
  const all = [
    of,
    { ...of, team: 'growth2' },
    { ...of, method: 'PUT' },
    { ...of, target: '/api/v1/campaign/create?a=1' },
    { ...of, body: Buffer.from('{"a": 1}') },
    { ...of, body: null },
  ].map(checksumOf);
  expect(new Set(all).size).toBe(all.length);
  expect(checksumOf({ ...of })).toBe(all[0]);
  expect(all[0]).toMatch(/^sha256:[A-Za-z0-9_-]{43}$/);
});
