import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { crcsInTurns } from '../../../src/reports/cache/entry.js';
import { turnsOf } from '../../support/turns.js';

const MIB = 2 ** 20;

describe('checksums in turns', () => {
  it('are those of the bodies, however these are cut', async () => {
    const bodies = [0, 10, MIB - 10, 1, 3 * MIB + 7, 0, 5].map((bytes, at) => Buffer.alloc(bytes, `a${at}`));
    expect(await crcsInTurns(bodies)).toEqual(bodies.map((body) => crc32(body)));
  });

  it('give others a turn after each MiB, of one body or of many', async () => {
    expect(await turnsOf(() => crcsInTurns([Buffer.alloc(8 * MIB)]))).toBeGreaterThanOrEqual(7);
    const days = Array.from({ length: 80 }, () => Buffer.alloc(MIB / 10));
    expect(await turnsOf(() => crcsInTurns(days))).toBeGreaterThanOrEqual(7);
  });

  it('are there at once where there is little to sum up', async () => {
    expect(await turnsOf(() => crcsInTurns([Buffer.alloc(1000), Buffer.alloc(MIB / 2)]))).toBe(0);
  });
});
