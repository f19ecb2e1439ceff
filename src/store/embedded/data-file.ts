/**
 * Checks the file of an environment without lmdb, which trusts it: a missing or wrong page would end the process, be
 * overwritten, or hide records. The format is lmdb's data version 2, little-endian, 64 bit.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { recordIsWhole } from './records.js';

/** Compares the meta pages with the length of the file. @throws DataFileDamaged */
export function checkMeta(path: string): void {
  withFile(path, (file) => void readMeta(file));
}

/** Checks every page and the checksum of every record. @returns the number of records. @throws DataFileDamaged */
export function checkDataFile(path: string): number {
  return withFile(path, (file) => {
    const meta = readMeta(file);
    const used = new Set<number>();
    const use = (first: number, pages: number): void => {
      for (let page = first; page < first + pages; page += 1) {
        if (page < 2 || page > meta.lastPage) fail(`page ${page} is beyond the end`);
        if (used.has(page)) fail(`page ${page} is used twice`);
        used.add(page);
      }
    };
    const walk = createWalk(file, meta, use);
    walk(meta.main, (key, data) => {
      if (!recordIsWhole(key, data)) fail('the checksum of a record is wrong');
    });
    walk(meta.free, (_key, data) => {
      for (const { first, pages } of freePages(data)) use(first, pages);
    });
    return meta.main.entries;
  });
}

/** A count, then entries: a page; below zero, the number of pages that follow the page after it; 0: nothing. */
function freePages(data: Buffer): { readonly first: number; readonly pages: number }[] {
  const count = data.length < 8 ? 0 : whole(data);
  if (data.length % 8 !== 0 || (count + 1) * 8 > data.length) fail('a list of free pages is cut off');
  const runs: { first: number; pages: number }[] = [];
  let pages = 1;
  for (let at = 1; at <= count; at += 1) {
    const entry = Number(data.readBigInt64LE(8 * at));
    if (entry < 0) pages = -entry;
    else {
      if (entry > 0) runs.push({ first: entry, pages });
      pages = 1;
    }
  }
  return runs;
}

export class DataFileDamaged extends Error {
  override readonly name = 'DataFileDamaged';
}

/** Header of a page: number, transaction, flags, bounds. */
const HEADER_BYTES = 24;

/** @throws DataFileDamaged */
function fail(what: string): never {
  throw new DataFileDamaged(what);
}

interface DataFile {
  readonly bytes: number;
  /** @throws DataFileDamaged if the file is shorter */
  read(position: number, length: number): Buffer;
}

function withFile<T>(path: string, use: (file: DataFile) => T): T {
  const handle = openSync(path, 'r');
  try {
    const bytes = fstatSync(handle).size;
    const read = (position: number, length: number): Buffer => {
      if (position + length > bytes) fail(`it is cut off: ${bytes} bytes, ${position + length} are needed`);
      const buffer = Buffer.alloc(length);
      for (let done = 0, now = 1; done < length; done += now) {
        now = readSync(handle, buffer, done, length - done, position + done);
        if (now === 0) fail('it became shorter');
      }
      return buffer;
    };
    return use({ bytes, read });
  } finally {
    closeSync(handle);
  }
}

/** @throws DataFileDamaged if it is larger than a safe integer */
function whole(bytes: Buffer): number {
  const number = bytes.readBigUInt64LE();
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) fail('a number is far too large');
  return Number(number);
}

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const META = 0x08;
/** Keys of the tree of free pages are numbers. */
const INTEGER_KEYS = 0x08;
/** Set by lmdb-js on the tree of records when its environment is opened. */
const WITH_STAMPS = 0x100;
const NO_ROOT = 2n ** 64n - 1n;
/** The largest map in an address space of 47 bits. */
const MAP_MAX = 2 ** 46;

type Meta = ReturnType<typeof parseMeta>;

/** @returns the newer of the two meta pages: each commit writes the older one. @throws DataFileDamaged */
function readMeta(file: DataFile): Meta {
  const first = parseMeta(file.read(0, 512), 0);
  const second = parseMeta(file.read(first.pageSize, 512), 1);
  if (second.pageSize !== first.pageSize) fail('its pages are of two sizes');
  // The other page of a copy is that of an empty file.
  const isCopy = first.transaction === 0 && first.main.root === null;
  if (!isCopy && Math.abs(first.transaction - second.transaction) !== 1)
    fail('its last commits do not follow each other');
  const meta = first.transaction > second.transaction ? first : second;
  const needed = (meta.lastPage + 1) * meta.pageSize;
  if (file.bytes < needed) fail(`it is cut off: ${file.bytes} bytes, ${needed} are needed`);
  return meta;
}

function parseMeta(page: Buffer, number: number) {
  const at = (offset: number) => page.subarray(HEADER_BYTES + offset);
  const right =
    page.readBigUInt64LE() === BigInt(number) &&
    page.readUInt16LE(18) === META &&
    at(0).readUInt32LE() === MAGIC &&
    at(4).readUInt32LE() === VERSION &&
    at(8).readBigUInt64LE() === 0n;
  if (!right) fail(`page ${number} is not what it should be`);
  const meta = {
    mapBytes: whole(at(16)),
    pageSize: at(24).readUInt32LE(),
    free: parseTree(at(24)),
    main: parseTree(at(72)),
    lastPage: whole(at(120)),
    transaction: whole(at(128)),
  };
  const { pageSize, mapBytes, lastPage, transaction, free, main } = meta;
  const sizes = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0;
  if (!sizes || mapBytes > MAP_MAX || mapBytes < (lastPage + 1) * pageSize)
    fail(`page ${number} names wrong sizes`);
  if (transaction % 2 !== number) fail(`page ${number} is of another commit than it says`);
  if ((free.flags & 0xff) !== INTEGER_KEYS || (main.flags & ~WITH_STAMPS) !== 0)
    fail(`page ${number} names wrong trees`);
  return meta;
}

function parseTree(bytes: Buffer) {
  const root = bytes.readBigUInt64LE(40);
  return {
    flags: bytes.readUInt16LE(4),
    depth: bytes.readUInt16LE(6),
    branches: whole(bytes.subarray(8)),
    leaves: whole(bytes.subarray(16)),
    overflows: whole(bytes.subarray(24)),
    entries: whole(bytes.subarray(32)),
    // Null: it is empty.
    root: root === NO_ROOT ? null : whole(bytes.subarray(40)),
  };
}

const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
/** The data of a node lies on pages of its own. */
const BIG = 0x01;

/** @returns reads a tree in the order of its keys, and compares it with the meta page */
function createWalk(file: DataFile, meta: Meta, use: (first: number, pages: number) => void) {
  const { pageSize, transaction } = meta;

  function readPage(number: number): Buffer {
    const page = file.read(number * pageSize, pageSize);
    const right = page.readBigUInt64LE() === BigInt(number) && whole(page.subarray(8)) <= transaction;
    if (!right) fail(`page ${number} is not what it should be`);
    return page;
  }

  function readBig(node: Buffer, length: number): { data: Buffer; pages: number } {
    const first = whole(node);
    const pages = Math.ceil((HEADER_BYTES + length) / pageSize);
    use(first, pages);
    const head = readPage(first);
    if (head.readUInt16LE(18) !== OVERFLOW || head.readUInt32LE(20) !== pages)
      fail(`page ${first} is no data`);
    return { data: file.read(first * pageSize + HEADER_BYTES, length), pages };
  }

  return (tree: ReturnType<typeof parseTree>, take: (key: Buffer, data: Buffer) => void): void => {
    const compare = (tree.flags & INTEGER_KEYS) === 0 ? Buffer.compare : compareNumbers;
    let last: Buffer | null = null;
    const seen = { branches: 0, leaves: 0, overflows: 0, entries: 0 };

    function visit(number: number, depth: number, from: Buffer | null, to: Buffer | null): void {
      use(number, 1);
      const page = readPage(number);
      const isLeaf = depth === tree.depth;
      if (page.readUInt16LE(18) !== (isLeaf ? LEAF : BRANCH)) fail(`page ${number} is of another kind`);
      seen[isLeaf ? 'leaves' : 'branches'] += 1;
      const nodes = nodesOf(page, number);
      for (const [at, node] of nodes.entries()) {
        if (isLeaf) leaf(node, from, to);
        else visit(childOf(node), depth + 1, at === 0 ? from : keyOf(node), nodeKey(nodes[at + 1]) ?? to);
      }
    }

    function leaf(node: Buffer, from: Buffer | null, to: Buffer | null): void {
      const key = keyOf(node);
      const inside = (from === null || compare(from, key) <= 0) && (to === null || compare(key, to) < 0);
      if (!inside || (last !== null && compare(last, key) >= 0)) fail('its keys are not in order');
      last = key;
      seen.entries += 1;
      const length = node.readUInt32LE();
      const data = node.subarray(8 + key.length);
      const flags = node.readUInt16LE(4);
      if (flags === BIG) {
        const big = readBig(data, length);
        seen.overflows += big.pages;
        take(key, big.data);
      } else {
        if (flags !== 0 || length > data.length) fail('a record reaches beyond its page');
        take(key, data.subarray(0, length));
      }
    }

    if (tree.root !== null) visit(tree.root, 1, null, null);
    for (const name of ['branches', 'leaves', 'overflows', 'entries'] as const)
      if (seen[name] !== tree[name]) fail(`it has ${seen[name]} ${name} instead of ${tree[name]}`);
  };
}

/** The nodes of a page, each from its start to the end of the page. */
function nodesOf(page: Buffer, number: number): Buffer[] {
  const lower = page.readUInt16LE(20);
  const room = page.length - HEADER_BYTES;
  if (lower > page.readUInt16LE(22) || page.readUInt16LE(22) > room || lower % 2 !== 0)
    fail(`page ${number} names wrong bounds`);
  return Array.from({ length: lower >> 1 }, (_, at) => {
    const offset = page.readUInt16LE(HEADER_BYTES + 2 * at);
    if (offset < lower || offset + 8 > room) fail(`page ${number} names a wrong place`);
    const node = page.subarray(HEADER_BYTES + offset);
    if (8 + node.readUInt16LE(6) > node.length) fail(`page ${number} holds a key beyond its end`);
    return node;
  });
}

const keyOf = (node: Buffer) => node.subarray(8, 8 + node.readUInt16LE(6));
const nodeKey = (node: Buffer | undefined) => (node === undefined ? null : keyOf(node));
const childOf = (node: Buffer) => node.readUInt32LE() + node.readUInt16LE(4) * 2 ** 32;

function compareNumbers(one: Buffer, other: Buffer): number {
  return Number(one.readBigUInt64LE() - other.readBigUInt64LE());
}
