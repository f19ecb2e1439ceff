import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diskAt, piecesOf } from './disk.js';
import { CHOICES, type Choice, imageOf } from './image.js';
import type { FileCall } from './trace.js';

type Step = FileCall extends infer One ? (One extends FileCall ? Omit<One, 'from' | 'to'> : never) : never;

/** Each ends before the next begins. */
const inOrder = (steps: readonly Step[]) =>
  steps.map((step, at) => ({ ...step, from: 2 * at, to: 2 * at + 1 }) as FileCall);

const open = (path: string, syncs = false): Step => ({
  ...{ kind: 'open', path, descriptor: 5, creates: true, truncates: false, appends: false, syncs },
});
const write = (path: string, offset: number | null, text: string | Buffer): Step => ({
  ...{ kind: 'write', path, descriptor: 5, offset, bytes: Buffer.from(text) },
});
const sync = (path: string): Step => ({ kind: 'sync', path });

function image(calls: readonly FileCall[], choice: Choice, at = 1000, chance = () => 0.5) {
  const found = imageOf(diskAt(calls, '/d', at), { choice, chance, zeros: false });
  return Object.fromEntries([...found].map(([path, bytes]) => [path, bytes?.toString() ?? null]));
}

it('has what was synced, and of what came later what is chosen', () => {
  const calls = inOrder([
    ...[open('/d/a'), write('/d/a', 0, 'one'), sync('/d/a'), sync('/d')],
    ...[write('/d/a', 3, ' two'), open('/d/b'), write('/d/b', null, 'x'), write('/d/b', null, 'y')],
  ]);
  expect(image(calls, 'none')).toEqual({ a: 'one' });
  expect(image(calls, 'all')).toEqual({ a: 'one two', b: 'xy' });
  expect(image(calls, 'names')).toEqual({ a: 'one', b: '' });
  expect(image(calls, 'all', 7)).toEqual({ a: 'one' });
});

it('has a synced file only where its name was synced too, and a rename as a whole or not at all', () => {
  const calls = inOrder([
    ...[{ kind: 'make folder', path: '/d/new' } as const, open('/d/new/a'), write('/d/new/a', 0, 'one')],
    ...[
      sync('/d/new/a'),
      sync('/d/new'),
      sync('/d'),
      { kind: 'rename', path: '/d/new', target: '/d/old' } as const,
    ],
  ]);
  expect(image(calls, 'none')).toEqual({ new: null, 'new/a': 'one' });
  expect(image(calls, 'all')).toEqual({ old: null, 'old/a': 'one' });
  expect(image(inOrder([open('/d/a'), write('/d/a', 0, 'one'), sync('/d/a')]), 'none')).toEqual({});
});

it('counts a sync only for writes that had ended when it began, and only when it has ended itself', () => {
  const path = '/d/a';
  const place = (step: Step, from: number, to: number) => ({ ...step, from, to }) as FileCall;
  const calls = [
    place(open(path), 0, 0),
    place(sync('/d'), 1, 1),
    place(write(path, 0, 'early'), 2, 4),
    place(sync(path), 3, 6),
    place(sync(path), 5, 8),
  ];
  expect(image(calls, 'none', 7)).toEqual({ a: '' });
  expect(image(calls, 'none', 8)).toEqual({ a: 'early' });
});

it('keeps a write that waits for the disk, as soon as it has ended', () => {
  const calls = inOrder([open('/d/a', true), sync('/d'), write('/d/a', 0, 'one')]);
  expect(image(calls, 'none', 4)).toEqual({ a: '' });
  expect(image(calls, 'none', 5)).toEqual({ a: 'one' });
});

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      ...{ path: fc.constant('/d/a'), descriptor: fc.constant(5), offset: fc.nat(20_000) },
      bytes: fc.uint8Array({ minLength: 1, maxLength: 9_000 }).map((bytes) => Buffer.from(bytes)),
    }),
    fc.constant(sync('/d/a')),
    fc.record({ kind: fc.constant('resize' as const), path: fc.constant('/d/a'), size: fc.nat(20_000) }),
  ),
  { maxLength: 12 },
);

/** What a file holds after all of these steps. */
function plainly(all: readonly Step[]): Buffer {
  let bytes = Buffer.alloc(0);
  for (const step of all) {
    if (step.kind === 'resize') bytes = Buffer.concat([bytes.subarray(0, step.size)], step.size);
    if (step.kind !== 'write' || step.offset === null) continue;
    bytes = Buffer.concat([bytes], Math.max(bytes.length, step.offset + step.bytes.length));
    step.bytes.copy(bytes, step.offset);
  }
  return bytes;
}

it('has everything by the choice `all`, everything until the last sync by `none`, and never a byte that nobody wrote', () => {
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.double({ min: 0, max: 0.99, noNaN: true })), (all, chances) => {
      const calls = inOrder([open('/d/a'), sync('/d'), ...all]);
      const chance = () => chances.next().value as number;
      const of = (choice: Choice) =>
        imageOf(diskAt(calls, '/d', 1000), { choice, chance, zeros: true }).get('a') as Buffer;
      const kept = plainly(all.slice(0, all.findLastIndex(({ kind }) => kind === 'sync') + 1));
      expect(of('all').equals(plainly(all))).toBe(true);
      expect(of('none').equals(kept)).toBe(true);
      const written = new Map<number, Set<number>>();
      for (const step of all) {
        if (step.kind !== 'write' || step.offset === null) continue;
        for (const [at, byte] of step.bytes.entries()) {
          const offset = step.offset + at;
          written.set(offset, (written.get(offset) ?? new Set([0])).add(byte));
        }
      }
      for (const choice of CHOICES) {
        const alien = [...of(choice).entries()].find(
          ([at, byte]) => byte !== 0 && !written.get(at)?.has(byte),
        );
        expect(alien).toBeUndefined();
      }
    }),
    { numRuns: 30 },
  );
});

it('cuts a write where pages begin, and loses nothing of it', () => {
  fc.assert(
    fc.property(fc.nat(20_000), fc.uint8Array({ maxLength: 20_000 }), (offset, bytes) => {
      const pieces = piecesOf(offset, Buffer.from(bytes)).filter((piece) => piece.kind === 'bytes');
      expect(Buffer.concat(pieces.map((piece) => piece.bytes)).equals(Buffer.from(bytes))).toBe(true);
      for (const { page, offset: from, bytes: part } of pieces) {
        expect(Math.floor(from / 4096)).toBe(page);
        expect(Math.floor((from + part.length - 1) / 4096)).toBe(page);
      }
    }),
  );
});
