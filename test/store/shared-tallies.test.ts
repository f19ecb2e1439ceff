/** Tallies that replicas merge into documents: what waits, what is written, and what becomes of it without a store. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailable } from '../../src/store/port.js';
import { createSharedTallies } from '../../src/store/shared-tallies.js';
import { openInMemory } from '../support/shared-registry.js';

type Letters = ReadonlySet<string>;
const encode = (letters: Letters) => [...letters].sort().join('');

async function rig(documents: Parameters<typeof createSharedTallies>[0]['documents'], more = {}) {
  const onAway = vi.fn();
  const tallies = createSharedTallies<string, Letters>({
    documents,
    everyMs: 3_600_000,
    ttlMs: 60_000,
    onAway,
    encode,
    documentOf: (key) => `letters:${key}`,
    decode: (text) => (/^[a-z]*$/.test(text) ? new Set(text) : null),
    none: new Set<string>(),
    merge: (one, other) => new Set([...one, ...other]),
    ...more,
  });
  onTestFinished(() => tallies.close());
  return { tallies, onAway };
}

it('adds what two replicas have counted, each document by itself', async () => {
  const { documents } = await openInMemory();
  const [{ tallies: one }, { tallies: two }] = [await rig(documents), await rig(documents)];
  one.add('k', new Set('a'));
  one.add('k', new Set('b'));
  two.add('k', new Set('c'));
  two.add('l', new Set('z'));
  expect(encode(one.atHand('k'))).toBe('ab');
  expect(one.unwritten()).toEqual(['k']);
  await Promise.all([one.flush(), two.flush()]);
  expect(one.unwritten()).toEqual([]);
  expect(encode(await one.read('k'))).toBe('abc');
  expect(encode(await one.read('l'))).toBe('z');
  expect(await documents.get('letters:k')).toBe('abc');
});

it('keeps what the store does not take, tells of the first failure alone, and writes it later', async () => {
  const { documents } = await openInMemory();
  let isAway = true;
  const get = async (key: string) => {
    if (isAway) throw new StoreUnavailable('away');
    return documents.get(key);
  };
  const { tallies, onAway } = await rig({ ...documents, get, create: documents.create.bind(documents) });
  tallies.add('k', new Set('a'));
  tallies.add('l', new Set('b'));
  await tallies.flush();
  tallies.add('k', new Set('c'));
  await tallies.flush();
  expect(onAway).toHaveBeenCalledTimes(1);
  expect(encode(tallies.atHand('k'))).toBe('ac');
  isAway = false;
  await tallies.flush();
  expect(await documents.get('letters:k')).toBe('ac');
  expect(await documents.get('letters:l')).toBe('b');
});

it('shares again until that was taken, though the document is written', async () => {
  const { documents } = await openInMemory();
  const onWritten = vi.fn().mockRejectedValueOnce(new Error('conflict')).mockResolvedValue(undefined);
  const { tallies } = await rig(documents, { onWritten });
  tallies.add('k', new Set('a'));
  await tallies.flush();
  expect(encode(await tallies.read('k'))).toBe('a');
  await tallies.flush();
  expect(onWritten).toHaveBeenCalledTimes(2);
  expect(tallies.unwritten()).toEqual([]);
});

it('knows what it knew, and writes it again, where the store has lost the document', async () => {
  const [first, second, third] = [await openInMemory(), await openInMemory(), await openInMemory()];
  let { documents } = first;
  const { tallies } = await rig({
    get: (key) => documents.get(key),
    create: (...write) => documents.create(...write),
    replace: (...write) => documents.replace(...write),
  } as typeof documents);
  tallies.add('k', new Set('a'));
  await tallies.flush();
  documents = second.documents;
  tallies.add('k', new Set('b'));
  await tallies.flush();
  expect(encode(tallies.atHand('k'))).toBe('ab');
  expect(await documents.get('letters:k')).toBe('ab');
  documents = third.documents;
  expect(encode(await tallies.read('k'))).toBe('ab');
  await tallies.flush();
  expect(await documents.get('letters:k')).toBe('ab');
});

it('leaves a document of a later release as it is, and knows what it has counted beside it', async () => {
  const { documents } = await openInMemory();
  const { tallies } = await rig(documents);
  await documents.create('letters:k', '{"form":2}', 60_000);
  tallies.add('k', new Set('a'));
  await tallies.flush();
  tallies.add('k', new Set('b'));
  await tallies.flush();
  expect(encode(tallies.atHand('k'))).toBe('ab');
  expect(encode(await tallies.read('k'))).toBe('ab');
  expect(tallies.unwritten()).toEqual([]);
  expect(await documents.get('letters:k')).toBe('{"form":2}');
});
