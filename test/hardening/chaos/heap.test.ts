import { expect, it } from 'vitest';
import { launch } from '../../support/processes.js';
import { waitFor } from '../../support/wait-for.js';
import { heldBy, INSPECTED, leftBehind } from './heap.js';

/** Keeps as many MiB, in its heap and outside of it, as it is told to by signals: 60 more, or none. */
const HOLDER = `
let kept = [];
const keep = () => kept.push(Buffer.alloc(30 * 2 ** 20), Array.from({ length: 3.75 * 2 ** 20 }, (_, at) => at / 3));
process.on('SIGUSR2', () => { keep(); console.log('kept'); });
process.on('SIGHUP', () => { kept = []; console.log('let go'); });
setInterval(() => {}, 1000);
console.log('begun');
`;

it('what a process goes on holding is seen, what it let go of is not', async () => {
  const holder = launch(process.execPath, ['-e', HOLDER], INSPECTED);
  await waitFor('a beginning', () => holder.stdout.includes('begun'), holder);
  const before = await heldBy([holder]);
  holder.signal('SIGUSR2');
  await waitFor('what is kept', () => holder.stdout.includes('kept'), holder);
  const full = leftBehind(before, await heldBy([holder]));
  holder.signal('SIGHUP');
  await waitFor('what is let go of', () => holder.stdout.includes('let go'), holder);
  const empty = leftBehind(before, await heldBy([holder]));
  await holder.end('SIGTERM');
  expect(full.fault).toMatch(/^(59|6\d) MiB were not let go of, 40 MiB may stay$/);
  expect(empty).toEqual({
    note: expect.stringMatching(/^\d+ MiB held, at most -?\d MiB more than before$/),
    fault: null,
  });
});
