import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Environment, openEnvironment } from '../../../src/store/embedded/environment.js';
import { NO_GATE } from '../../../src/store/embedded/gate.js';
import { createMemoryEnvironment } from '../../../src/store/embedded/memory-environment.js';
import { createTestLog } from '../test-log.js';

/** Few and short, so that they meet; of bytes that texts order otherwise. */
const key = fc
  .uint8Array({ minLength: 1, maxLength: 2 })
  .map((bytes) => Buffer.from(bytes.map((byte) => [0, 1, 0x61, 0x7f, 0x80, 0xff][byte % 6] as number)));
const value = fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes));
const writes = fc.array(fc.record({ key, value: fc.option(value) }), { minLength: 1, maxLength: 4 });
const step = fc.oneof(
  fc.record({
    kind: fc.constant('write' as const),
    writes,
    condition: fc.option(fc.record({ key, holds: fc.boolean() })),
  }),
  fc.record({ kind: fc.constant('get' as const), key }),
  fc.record({
    kind: fc.constant('range' as const),
    from: key,
    to: key,
    reverse: fc.boolean(),
    limit: fc.option(fc.integer({ min: 1, max: 3 })),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** What a step gives, without stamps: they are each environment's own. */
async function take(environment: Pick<Environment, 'read' | 'write'>, one: Step): Promise<unknown> {
  const seen = (record: { readonly key: Buffer; readonly value: Buffer }) =>
    [record.key, record.value].map((bytes) => bytes.toString('hex'));
  if (one.kind === 'get')
    return environment.read((view) => {
      const found = view.get(one.key);
      return found && seen(found);
    });
  if (one.kind === 'range') {
    const { kind: _, limit, ...bounds } = one;
    return environment.read((view) => view.range(limit === null ? bounds : { ...bounds, limit }).map(seen));
  }
  if (one.condition === null) return await environment.write(null, one.writes);
  const { key: of, holds } = one.condition;
  const stamp = environment.read((view) => view.get(of)?.stamp ?? 0);
  return await environment.write({ key: of, stamp: holds ? stamp : stamp + 1 }, one.writes);
}

it('does what the environment on the disk does', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'dgw-memory-environment-'));
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const memory = createMemoryEnvironment();
      run += 1;
      const disk = await openEnvironment({
        folder: join(parent, `${run}`),
        mapBytes: 1 << 24,
        durable: false,
        gate: NO_GATE,
        logger: createTestLog(),
      });
      try {
        for (const one of steps) expect(await take(memory, one)).toEqual(await take(disk, one));
      } finally {
        await disk.close();
      }
    }),
    { numRuns: 40 },
  );
  await rm(parent, { recursive: true });
});

it('gives a record that was deleted and made again another stamp', async () => {
  const environment = createMemoryEnvironment();
  const a = Buffer.from('a');
  const stampOf = () => environment.read((view) => view.get(a)?.stamp);
  await environment.write(null, [{ key: a, value: a }]);
  const first = stampOf();
  await environment.write(null, [{ key: a, value: null }]);
  await environment.write(null, [{ key: a, value: a }]);
  expect(stampOf()).not.toBe(first);
});
