import { expect, it } from 'vitest';
import { createAnswerBuffers } from '../../../src/api/proxy/clean-answer.js';

const MIB = 1_048_576;

it('never gives more than its total, and has again what was given back', () => {
  const buffers = createAnswerBuffers(2.5 * MIB);
  const given = [buffers.take(null), buffers.take(MIB), buffers.take(200_000)];
  expect(given.map(({ bytes }) => bytes)).toEqual([MIB + 65_536, MIB + 65_536, 265_536]);
  expect(buffers.take(null).bytes).toBe(0);
  for (const { giveBack } of given) giveBack();
  expect(buffers.taken).toBe(0);
  expect(buffers.take(null).bytes).toBe(MIB + 65_536);
});

it('gives nothing to what needs none, nor to what would not be whole in it', () => {
  const buffers = createAnswerBuffers(100 * MIB);
  for (const length of [0, 65_536, MIB + 1]) expect(buffers.take(length).bytes).toBe(0);
  expect(buffers.taken).toBe(0);
});
