/** Pins on the disk: a flipped bit, and a process that is killed between any two writes. */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writePins } from '../conformance-pins.js';
import { bundleScript } from './bundle.js';
import { startScript } from './child.js';
import { flipBits, inFolder, openIn } from './in-folder.js';

it('is damaged, never other bytes, when a bit of the file has flipped; and can be removed', () =>
  inFolder(async (folder) => {
    const { pins, close } = await openIn(folder);
    const file = join(folder, 'history', 'data.mdb');
    const added = new Map([
      ['a', Buffer.from('the rows of pin a')],
      ['b', Buffer.from('the rows of pin b')],
    ]);
    await writePins(pins, 't:0', { index: Buffer.from('the index of t'), added });
    await writePins(pins, 'u:0', { index: Buffer.from('the index of u') });
    flipBits(file, 'the rows of pin a');
    expect((await pins.read('t:0', ['a', 'b'])).bodies).toEqual(['damaged', added.get('b')]);
    flipBits(file, 'the index of t');
    expect((await pins.read('t:0')).index).toBe('damaged');
    expect((await pins.read('u:0')).index?.toString()).toBe('the index of u');
    await pins.remove('t:0');
    expect(await pins.read('t:0', ['a', 'b'])).toEqual({ stamp: 0, index: null, bodies: [null, null] });
    expect(await pins.list(null, 10)).toEqual(['u:0']);
    await close();
  }));

it('an index and its bodies agree, with every acknowledged write, wherever kill -9 strikes', async () => {
  const loop = await bundleScript('pin-loop.mjs');
  try {
    await inFolder(async (folder) => {
      for (const lines of [1, 7, 20]) {
        const child = await startScript(loop.path, folder);
        let text = '';
        child.stdout.on('data', (chunk) => {
          text += chunk;
          if (text.split('\n').length > lines) child.kill('SIGKILL');
        });
        const [, signal] = await once(child, 'close');
        expect(signal).toBe('SIGKILL');
        const last = Number(text.slice(0, text.lastIndexOf('\n')).split('\n').at(-1));
        const { pins, close } = await openIn(folder);
        const listed: number[] = JSON.parse(String((await pins.read('t:0')).index));
        expect(listed.at(-1)).toBeGreaterThanOrEqual(last);
        const names = Array.from({ length: (listed.at(-1) ?? 0) + 3 }, (_, at) => String(at));
        const { bodies } = await pins.read('t:0', names);
        expect(bodies.flatMap((body, at) => (body === null ? [] : [at]))).toEqual(listed);
        for (const at of listed) expect(bodies[at]).toEqual(Buffer.alloc(9_000, String(at)));
        await close();
      }
    });
  } finally {
    await loop.remove();
  }
}, 60_000);
