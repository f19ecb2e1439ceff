/** The log as a person at a terminal reads it. */
import { expect, it } from 'vitest';
import { prettyLine } from '../../src/telemetry/logger.js';

const plain = { colours: false };
const line = (members: object) =>
  `${JSON.stringify({ level: 'warn', time: '2026-11-22T09:06:44.040Z', pid: 7, ...members })}\n`;

it('has time, level, what happened, and the rest', () => {
  expect(prettyLine(line({ status: 200, path: '/a', who: 'two words', msg: 'request' }), plain)).toBe(
    '09:06:44.040 WARN  request status=200 path=/a who="two words"\n',
  );
});

it('has an error below', () => {
  expect(prettyLine(line({ err: { message: 'no', stack: 'Error: no\n  at x' }, msg: 'failed' }), plain)).toBe(
    '09:06:44.040 WARN  failed\n    Error: no\n      at x\n',
  );
});

it('colours the level alone, and lets nothing else act on the terminal', () => {
  expect(prettyLine(line({ msg: 'a\u001b[31mb' }), { colours: true })).toBe(
    '09:06:44.040 \u001b[33mWARN \u001b[0m a�[31mb\n',
  );
});

it('leaves alone what is no line of JSON', () => {
  expect(prettyLine('half a li', plain)).toBe('half a li');
});
