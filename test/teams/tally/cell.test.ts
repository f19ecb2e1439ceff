/** The numbers of a cell, however they are stored and merged. */
import { expect, it } from 'vitest';
import { AT, BINS_MS, emptyCell, isSum, mergeInto, quantileMs } from '../../../src/teams/tally/cell.js';
import { ALL, cellsOf, hoursGroup, toBatch } from '../../../src/teams/tally/groups.js';

/** Every number of a cell, with the same value. */
const filled = (value: number) => emptyCell().fill(value);

it('each number has a place of its own, next to the others', () => {
  const { bins, ...others } = AT;
  const places = [...Object.values(others), ...BINS_MS.map((_, bin) => bins + bin)];
  expect(places.toSorted((a, b) => a - b)).toEqual(Array.from(emptyCell().keys()));
});

it('numbers are added wherever they stand, except the queue, the budget, the last second and the longest request', () => {
  const cell = filled(5);
  mergeInto(cell, filled(3));
  const kept = new Map<number, number>([
    [AT.queue, 5],
    [AT.budget, 3],
    [AT.last, 5],
    [AT.longest, 5],
  ]);
  expect([...cell]).toEqual([...cell.keys()].map((at) => kept.get(at) ?? 8));
  expect([...cell.keys()].filter((at) => !isSum(at))).toEqual([...kept.keys()]);
});

it('counts of two processes in the store are merged as in memory', () => {
  const fields = new Map<string, number>();
  for (const value of [5, 3]) {
    const { adds, raises } = toBatch(new Map([[ALL, new Map([[0, filled(value)]])]]), 0);
    for (const { group, field, by } of adds)
      if (group === hoursGroup(0, ALL)) fields.set(field, (fields.get(field) ?? 0) + by);
    for (const { group, field, to } of raises)
      if (group === hoursGroup(0, ALL)) fields.set(field, Math.max(fields.get(field) ?? 0, to));
  }
  const merged = filled(5);
  mergeInto(merged, filled(3));
  expect(cellsOf(fields).get(0)).toEqual(merged);
});

it('a quantile is never above the longest request, and does not guess how long the longest ones took', () => {
  const cell = emptyCell();
  cell[AT.bins + BINS_MS.indexOf(60_000)] = 3;
  expect(quantileMs(cell, 0.99)).toBe(30_000);
  cell[AT.longest] = 31_234;
  expect(quantileMs(cell, 0.99)).toBe(31_234);
  cell[AT.longest] = 90_000;
  expect(quantileMs(cell, 0.5)).toBe(45_000);
});
