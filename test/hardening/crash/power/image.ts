/** What a disk may hold after power was lost: of what is not surely there, a choice. Pure. */
import { type Disk, type DiskFile, type DiskFolder, type Node, PAGE_BYTES } from './disk.js';

/**
 * What of the writes after the last sync is there. `none`, `all`; `names`: all changes of names, and nothing written; `pages`: of each page none or all; `some`: of each page the
 * first few; `torn`: the same, and of some pages the next write in part, sector by sector.
 */
export const CHOICES = ['none', 'names', 'all', 'pages', 'some', 'torn'] as const;
export type Choice = (typeof CHOICES)[number];

export interface ImageOptions {
  readonly choice: Choice;
  /** From 0 to 1, by seed. */
  readonly chance: () => number;
  /** Whether a file may have its new size before what stands there: it reads as zeros then. */
  readonly zeros: boolean;
}

/** Paths below the root to the bytes of a file, or null for a folder; folders before what lies in them. */
export type Image = ReadonlyMap<string, Buffer | null>;

const SECTOR_BYTES = 512;

export function imageOf(disk: Disk, options: ImageOptions): Image {
  const names = new Map<DiskFolder, Map<string, Node>>();
  for (const { folder, name, node } of changesOf(disk, options)) {
    const held = names.get(folder) ?? new Map<string, Node>();
    names.set(folder, held);
    if (node === null) held.delete(name);
    else held.set(name, node);
  }
  const image = new Map<string, Buffer | null>();
  const contents = new Map<DiskFile, Buffer>();
  function put(folder: DiskFolder, path: string): void {
    for (const [name, node] of names.get(folder) ?? []) {
      const below = path === '' ? name : `${path}/${name}`;
      if (node.kind === 'folder') {
        image.set(below, null);
        put(node, below);
        continue;
      }
      const bytes = contents.get(node) ?? bytesOf(node, options);
      contents.set(node, bytes);
      image.set(below, bytes);
    }
  }
  put(disk.root, '');
  return image;
}

/** The journal of a file system has changes of names in their order. */
function changesOf({ changes }: Disk, { choice, chance }: ImageOptions) {
  const open = changes.filter(({ durable }) => !durable).length;
  const parts = { none: 0, names: 1, all: 1, pages: chance(), some: chance(), torn: chance() };
  let left = Math.round(open * parts[choice]);
  return changes.flatMap(({ names, durable }) => {
    if (durable) return names;
    left -= 1;
    return left >= 0 ? names : [];
  });
}

type Kept = DiskFile['pieces'][number];

function bytesOf({ pieces }: DiskFile, options: ImageOptions): Buffer {
  const pages = new Map<number, Kept[]>();
  for (const kept of pieces) {
    const ofPage = pages.get(kept.piece.page);
    if (ofPage === undefined) pages.set(kept.piece.page, [kept]);
    else ofPage.push(kept);
  }
  const there = new Set<Kept>();
  const torn = new Set<Kept>();
  for (const ofPage of pages.values()) {
    const least = ofPage.findLastIndex(({ durable }) => durable) + 1;
    const count = countOf(least, ofPage.length, options);
    for (const kept of ofPage.slice(0, count)) there.add(kept);
    const next = ofPage[count];
    if (next !== undefined && options.choice === 'torn' && options.chance() < 0.5) torn.add(next);
  }
  const mayShow = options.zeros && options.choice !== 'none' && options.choice !== 'names';
  const showsSize = mayShow && options.chance() < 0.5;
  return put(pieces, there, torn, showsSize, options.chance);
}

/** How many writes of a page are there. */
function countOf(least: number, all: number, { choice, chance }: ImageOptions): number {
  if (choice === 'none' || choice === 'names') return least;
  if (choice === 'all') return all;
  if (choice === 'pages') return chance() < 0.5 ? least : all;
  return least + Math.floor(chance() * (all - least + 1));
}

function put(
  pieces: readonly Kept[],
  there: ReadonlySet<Kept>,
  torn: ReadonlySet<Kept>,
  showsSize: boolean,
  chance: () => number,
): Buffer {
  let bytes: Buffer = Buffer.alloc(0);
  let size = 0;
  for (const kept of pieces) {
    const { piece } = kept;
    const isThere = there.has(kept);
    if (piece.kind === 'size') {
      if (isThere || (showsSize && piece.size > size)) {
        size = piece.size;
        bytes = grown(bytes, size);
        bytes.fill(0, size);
      }
      continue;
    }
    const end = piece.offset + piece.bytes.length;
    if (isThere || torn.has(kept) || showsSize) size = Math.max(size, end);
    bytes = grown(bytes, size);
    if (isThere) piece.bytes.copy(bytes, piece.offset);
    else if (torn.has(kept)) putSectors(bytes, piece.offset, piece.bytes, chance);
  }
  return bytes.subarray(0, size);
}

/** Beyond its end a file reads as zeros. */
function grown(bytes: Buffer, size: number): Buffer {
  return bytes.length < size ? Buffer.concat([bytes], Math.max(size, 2 * bytes.length)) : bytes;
}

/** The sectors of a page are each as they were, or as they were to be. */
function putSectors(bytes: Buffer, offset: number, piece: Buffer, chance: () => number): void {
  for (let from = 0; from < piece.length; ) {
    const start = (offset + from) % PAGE_BYTES;
    const to = Math.min(piece.length, from + SECTOR_BYTES - (start % SECTOR_BYTES));
    if (chance() < 0.5) piece.copy(bytes, offset + from, from, to);
    from = to;
  }
}
