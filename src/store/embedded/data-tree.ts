import { type DataFile, fail, HEADER_BYTES, whole } from './data-bytes.js';
import { INTEGER_KEYS, type Meta, type Tree } from './data-meta.js';

const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
/** The data of a node lies on pages of its own. */
const BIG = 0x01;

export type TakeNode = (key: Buffer, data: Buffer) => void;

/** @returns goes through a tree, in the order of its keys, and compares what it finds with what the meta page says */
export function createWalk(file: DataFile, meta: Meta, use: (first: number, pages: number) => void) {
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

  return (tree: Tree, take: TakeNode): void => {
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
