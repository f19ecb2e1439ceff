import { type DataFile, fail, HEADER_BYTES, whole } from './data-bytes.js';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const META = 0x08;
/** Keys of the tree of free pages are numbers. */
export const INTEGER_KEYS = 0x08;
/** Set by lmdb-js on the tree of records once their environment was opened. */
const WITH_STAMPS = 0x100;
const NO_ROOT = 2n ** 64n - 1n;
/** What an address space of 47 bits could map. */
const MAP_MAX = 2 ** 46;

/** What a meta page says of a tree. */
export interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** Null: it is empty. */
  readonly root: number | null;
}

/** What a meta page says. */
export interface Meta {
  readonly pageSize: number;
  readonly mapBytes: number;
  readonly free: Tree;
  readonly main: Tree;
  readonly lastPage: number;
  readonly transaction: number;
}

/**
 * The newer of the two meta pages: each commit writes the one that the commit before did not.
 * @throws DataFileDamaged
 */
export function readMeta(file: DataFile): Meta {
  const first = parseMeta(file.read(0, 512), 0);
  const second = parseMeta(file.read(first.pageSize, 512), 1);
  if (second.pageSize !== first.pageSize) fail('its pages are of two sizes');
  // A copy has its only commit beside the page of an empty file.
  const isCopy = first.transaction === 0 && first.main.root === null;
  if (!isCopy && Math.abs(first.transaction - second.transaction) !== 1)
    fail('its last commits do not follow each other');
  const meta = first.transaction > second.transaction ? first : second;
  const needed = (meta.lastPage + 1) * meta.pageSize;
  if (file.bytes < needed) fail(`it is cut off: ${file.bytes} bytes, ${needed} are needed`);
  return meta;
}

function parseMeta(page: Buffer, number: number): Meta {
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

function parseTree(bytes: Buffer): Tree {
  const root = bytes.readBigUInt64LE(40);
  return {
    flags: bytes.readUInt16LE(4),
    depth: bytes.readUInt16LE(6),
    branches: whole(bytes.subarray(8)),
    leaves: whole(bytes.subarray(16)),
    overflows: whole(bytes.subarray(24)),
    entries: whole(bytes.subarray(32)),
    root: root === NO_ROOT ? null : whole(bytes.subarray(40)),
  };
}
