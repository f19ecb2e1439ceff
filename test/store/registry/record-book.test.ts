/** Records of the registry that replicas share: bounded in number, and changed by several at once. */
import Type from 'typebox';
import { expect, it } from 'vitest';
import { recordForm } from '../../../src/lib/record.js';
import { createRecordBook } from '../../../src/store/registry/record-book.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';

const Form = recordForm(Type.Object({ count: Type.Number() }));
const open = async () => {
  const { registry } = await openReplica(await openInMemory());
  return { registry, book: createRecordBook(registry, { prefix: 'book/', max: 3, read: Form.read }) };
};

it('forgets the oldest beyond the bound, and leaves records of others alone', async () => {
  const { registry, book } = await open();
  await registry.commit({ writes: new Map([['else', 'x']]) });
  for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) await book.change(id, () => ({ count: at }));
  expect(book.list()).toEqual([
    ['b', { count: 1 }],
    ['c', { count: 2 }],
    ['d', { count: 3 }],
  ]);
  expect(registry.get('else')?.value).toBe('x');
});

it('adds to what was there, and writes nothing where nothing changes', async () => {
  const { registry, book } = await open();
  for (const _ of [1, 2]) await book.change('a', (before) => ({ count: (before?.count ?? 0) + 1 }));
  expect(book.get('a')).toEqual({ count: 2 });
  const { version } = registry;
  await book.change('a', (before) => before);
  expect(registry.version).toBe(version);
});

it('names a damaged record, and quotes nothing of it', async () => {
  const { registry, book } = await open();
  await registry.commit({ writes: new Map([['book/a', '{"count":"c4n4ry"}']]) });
  expect(() => book.get('a')).toThrow('the record book/a is damaged');
});
