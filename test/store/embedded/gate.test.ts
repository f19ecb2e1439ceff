import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Gate, openGate, openGateIfThere, prepareGate } from '../../../src/store/embedded/gate.js';
import { inFolder } from './in-folder.js';

/** Two of one folder, as two processes have them. */
async function withGates(
  patience: Parameters<typeof openGate>[1],
  use: (one: Gate, other: Gate) => Promise<void>,
) {
  await inFolder(async (folder) => {
    await prepareGate(folder);
    const [one, other] = [openGate(folder, patience), openGate(folder, patience)];
    await use(one, other);
    await one.close();
    await other.close();
  });
}

/** A write that ends when it is told. */
function heldWrite(gate: Gate) {
  let end = () => {};
  const under = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done: gate.write(() => under), end };
}

it('opens when the last write has ended, and lets none begin meanwhile', () =>
  withGates(undefined, async (one, other) => {
    const steps: string[] = [];
    const step = (name: string) => () => void steps.push(name);
    const writes = [heldWrite(one), heldWrite(one)];
    const opened = other.open(step('opened'));
    const later = one.write(async () => step('written')());
    expect(steps).toEqual([]);
    for (const { end, done } of writes) {
      end();
      await done;
    }
    await Promise.all([opened, later]);
    expect(steps).toEqual(['opened', 'written']);
  }));

it('gives up where a write does not end, and lets others write until then', () =>
  withGates({ waitMs: 20, restMs: 20, tries: 5 }, async (one, other) => {
    const { end, done } = heldWrite(one);
    const steps: string[] = [];
    const opened = other
      .open(() => void steps.push('opened'))
      .catch((error: Error) => void steps.push(error.name));
    await other.write(async () => void steps.push('written'));
    await opened;
    expect(steps).toEqual(['written', 'StoreUnavailable']);
    end();
    await done;
    await other.open(() => void steps.push('opened'));
    expect(steps.at(-1)).toBe('opened');
  }));

it('passes on what a write fails with, and is open again', () =>
  withGates(undefined, async (one, other) => {
    await expect(one.write(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
    expect(await other.open(() => 'opened')).toBe('opened');
  }));

it('is made anew where a crash of the machine has left it in pieces', () =>
  inFolder(async (folder) => {
    const path = (sign: string) => join(folder, 'gate', sign, 'data.mdb');
    await prepareGate(folder);
    await openGate(folder).close();
    const whole = await readFile(path('opening'));
    await truncate(path('opening'), 100);
    await writeFile(path('writing'), Buffer.alloc(whole.length));
    // Whoever only looks leaves it alone.
    expect(await openGateIfThere(folder).open(() => 'opened')).toBe('opened');
    await prepareGate(folder);
    await openGate(folder).close();
    expect(await readFile(path('opening'))).toEqual(whole);
    expect(await readFile(path('writing'))).toEqual(whole);
  }));
