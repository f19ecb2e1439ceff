import { expect, it } from 'vitest';
import { parseTrace } from './trace.js';

const hex = (text: string) =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
const file = `5<${hex('/d/a')}>`;
const cwd = `AT_FDCWD<${hex('/w')}>`;

/** @param lines each with its thread, and without a time */
const parse = (...lines: string[]) =>
  parseTrace(lines.map((line, at) => line.replace(' ', ` 17000000${10 + at}.500000 `)));

it('reads what was written, where, and whether it waited for the disk', () => {
  const { calls } = parse(
    `7 openat(${cwd}, "${hex('/d/a')}", O_RDWR|O_CREAT|O_DSYNC, 0600) = ${file}`,
    `7 pwrite64(${file}, "${hex('abc')}", 3, 8192) = 3`,
    `7 pwritev(${file}, [{iov_base="${hex('ab')}", iov_len=2}, {iov_base="${hex('cd')}", iov_len=2}], 2, 4096) = 3`,
    `7 lseek(${file}, 10, SEEK_SET) = 10`,
    `7 writev(${file}, [{iov_base="${hex('ef')}", iov_len=2}], 1) = 2`,
    `7 ftruncate(${file}, 64) = 0`,
    `7 fdatasync(${file}) = 0`,
  );
  expect(calls.map(({ from: _, to: __, ...call }) => call)).toEqual([
    {
      ...{ kind: 'open', path: '/d/a', descriptor: 5, creates: true, truncates: false, appends: false },
      syncs: true,
    },
    { kind: 'write', path: '/d/a', descriptor: 5, offset: 8192, bytes: Buffer.from('abc') },
    { kind: 'write', path: '/d/a', descriptor: 5, offset: 4096, bytes: Buffer.from('abc') },
    { kind: 'seek', path: '/d/a', descriptor: 5, offset: 10 },
    { kind: 'write', path: '/d/a', descriptor: 5, offset: null, bytes: Buffer.from('ef') },
    { kind: 'resize', path: '/d/a', size: 64 },
    { kind: 'sync', path: '/d/a' },
  ]);
});

it('joins a call that another thread came in between, and knows when it began and ended', () => {
  const { calls, length } = parse(
    `7 fdatasync(${file} <unfinished ...>`,
    `8 pwrite64(${file}, "${hex('a')}", 1, 0) = 1`,
    '7 <... fdatasync resumed>) = 0',
    `8 pwrite64(${file}, "${hex('b')}", 1, 1 <unfinished ...>`,
  );
  expect(calls).toMatchObject([
    { kind: 'sync', from: 1, to: 3 },
    { kind: 'write', from: 2, to: 2 },
    { kind: 'write', from: 4, to: Infinity, bytes: Buffer.from('b') },
  ]);
  expect(length).toBe(4);
});

it('reads changes of names, with folders of their own too', () => {
  const { calls } = parse(
    `7 mkdir("${hex('/d/new')}", 0700) = 0`,
    `7 rename("${hex('/d/new')}", "${hex('/d/old')}") = 0`,
    `7 renameat2(${cwd}, "${hex('a')}", 4<${hex('/x')}>, "${hex('b')}", 0) = 0`,
    `7 link("${hex('/d/a')}", "${hex('/d/b')}") = 0`,
    `7 unlinkat(${cwd}, "${hex('/d/a')}", 0) = 0`,
    `7 rmdir("${hex('/d/none')}") = -1 ENOENT (No such file or directory)`,
  );
  expect(calls.map(({ from: _, to: __, ...call }) => call)).toEqual([
    { kind: 'make folder', path: '/d/new' },
    { kind: 'rename', path: '/d/new', target: '/d/old' },
    { kind: 'rename', path: '/w/a', target: '/x/b' },
    { kind: 'link', path: '/d/a', target: '/d/b' },
    { kind: 'remove', path: '/d/a' },
  ]);
});

it('knows what was sent over sockets, and leaves out files that are only read or have no name any more', () => {
  const { calls, sent } = parse(
    `7 writev(9<${hex('socket:[1]')}>, [{iov_base="${hex('HTTP')}", iov_len=4}], 1) = 4`,
    `7 write(1<${hex('pipe:[2]')}>, "${hex('x')}", 1) = 1`,
    `7 openat(${cwd}, "${hex('/d/a')}", O_RDONLY|O_CLOEXEC) = ${file}`,
    `7 write(${file}(deleted), "${hex('x')}", 1) = 1`,
  );
  expect({ calls, sent }).toEqual({ calls: [], sent: [{ at: 1, ms: 1_700_000_010_500 }] });
});

it('refuses what it would have to guess', () => {
  expect(() => parse(`7 write(${file}, "${hex('x')}"..., 9) = 9`)).toThrow('a write was cut short by strace');
  expect(() => parse(`7 fallocate(${file}, 0, 0, 9) = 0`)).toThrow('fallocate of /d/a is not known here');
});
