/**
 * Files as they may be on the disk at one place of a trace: what is surely there, and what may be. Pure.
 *
 * A page of the cache is written by the system whenever it likes, but never in an earlier state than it was before: of
 * each page the disk has the first so many writes. A write that waits for the disk, and a sync that ended, say how many at
 * least. Names are held by folders: a change of them is surely there when its folder was synced, and else by the order of the
 * file system's journal.
 */
import { dirname } from 'node:path';
import type { FileCall } from './trace.js';

export const PAGE_BYTES = 4096;

/** A piece of a write, within one page; or a change of the size. */
export type Piece =
  | { readonly kind: 'bytes'; readonly page: number; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'size'; readonly page: -1; readonly size: number };

interface Kept {
  readonly piece: Piece;
  /** When the write had ended. */
  readonly to: number;
  durable: boolean;
}

export interface DiskFile {
  readonly kind: 'file';
  readonly pieces: readonly Readonly<Kept>[];
}

export interface DiskFolder {
  readonly kind: 'folder';
}

export type Node = DiskFile | DiskFolder;

/** Names that change together. */
export interface NameChange {
  readonly names: readonly {
    readonly folder: DiskFolder;
    readonly name: string;
    readonly node: Node | null;
  }[];
  readonly durable: boolean;
}

export interface Disk {
  readonly root: DiskFolder;
  readonly changes: readonly NameChange[];
}

type OpenFile = { kind: 'file'; pieces: Kept[]; size: number };
type OpenFolder = { kind: 'folder'; names: Map<string, OpenNode> };
type OpenNode = OpenFile | OpenFolder;
type Change = {
  names: { folder: OpenFolder; name: string; node: OpenNode | null }[];
  to: number;
  durable: boolean;
};

/**
 * @param root a folder that was empty, and on the disk, when the trace began; what lies elsewhere is left out
 * @param at the place at which the power is lost: what had not begun by then never happens
 */
export function diskAt(calls: readonly FileCall[], root: string, at: number): Disk {
  const top: OpenFolder = { kind: 'folder', names: new Map() };
  const changes: Change[] = [];
  const find = (path: string) => nodeAt(top, root, path);
  const state: State = { at, top, root, changes, positions: new Map(), syncing: new Set(), find };
  for (const call of calls) {
    if (call.from > at) break;
    if (!isBelow(root, call.path)) continue;
    apply(state, call);
  }
  return { root: top, changes };
}

interface State {
  readonly at: number;
  readonly top: OpenFolder;
  readonly root: string;
  readonly changes: Change[];
  /** Of descriptors, where they stand; Infinity: at the end, always. */
  readonly positions: Map<string, number>;
  /** Descriptors whose writes wait for the disk. */
  readonly syncing: Set<string>;
  find(path: string): OpenNode | null;
}

const isBelow = (root: string, path: string) => path === root || path.startsWith(`${root}/`);

function nodeAt(top: OpenFolder, root: string, path: string): OpenNode | null {
  let node: OpenNode | null = top;
  for (const name of path.slice(root.length).split('/').filter(Boolean))
    node = node?.kind === 'folder' ? (node.names.get(name) ?? null) : null;
  return node;
}

function apply(state: State, call: FileCall): void {
  const { find } = state;
  if (call.kind === 'open') open(state, call);
  else if (call.kind === 'write') write(state, call);
  else if (call.kind === 'seek') state.positions.set(`${call.descriptor} ${call.path}`, call.offset);
  else if (call.kind === 'resize') resize(find(call.path), call.size, call.to);
  else if (call.kind === 'sync') sync(state, call);
  else change(state, call.to, namesOf(call, find));
}

type NameCall = Extract<FileCall, { readonly kind: 'make folder' | 'remove' | 'rename' | 'link' }>;

function namesOf(call: NameCall, find: State['find']): readonly (readonly [string, OpenNode | null])[] {
  if (call.kind === 'make folder') return [[call.path, { kind: 'folder', names: new Map() }]];
  if (call.kind === 'remove') return [[call.path, null]];
  const target = [call.target, find(call.path)] as const;
  return call.kind === 'link' ? [target] : [[call.path, null], target];
}

function change(state: State, to: number, named: readonly (readonly [string, OpenNode | null])[]): void {
  const names = named.flatMap(([path, node]) => {
    const folder = isBelow(state.root, path) ? state.find(dirname(path)) : null;
    return folder?.kind === 'folder' ? [{ folder, name: path.slice(dirname(path).length + 1), node }] : [];
  });
  for (const { folder, name, node } of names)
    if (node === null) folder.names.delete(name);
    else folder.names.set(name, node);
  state.changes.push({ names, to, durable: false });
}

function open(state: State, call: FileCall & { kind: 'open' }): void {
  const { path, creates, truncates, to } = call;
  const found = state.find(path);
  if (found === null && creates) change(state, to, [[path, { kind: 'file', pieces: [], size: 0 }]]);
  else if (truncates) resize(found, 0, to);
  const descriptor = `${call.descriptor} ${path}`;
  state.positions.set(descriptor, call.appends ? Infinity : 0);
  if (call.syncs) state.syncing.add(descriptor);
  else state.syncing.delete(descriptor);
}

function resize(file: OpenNode | null, size: number, to: number): void {
  if (file?.kind !== 'file' || file.size === size) return;
  file.size = size;
  file.pieces.push({ piece: { kind: 'size', page: -1, size }, to, durable: false });
}

function write(state: State, call: FileCall & { kind: 'write' }): void {
  const file = state.find(call.path);
  if (file?.kind !== 'file') return;
  const descriptor = `${call.descriptor} ${call.path}`;
  const stands = state.positions.get(descriptor) ?? 0;
  const offset = call.offset ?? Math.min(stands, file.size);
  if (call.offset === null && stands !== Infinity)
    state.positions.set(descriptor, stands + call.bytes.length);
  const start = call.offset === null && stands !== Infinity ? stands : offset;
  for (const piece of piecesOf(start, call.bytes)) file.pieces.push({ piece, to: call.to, durable: false });
  file.size = Math.max(file.size, start + call.bytes.length);
  if (state.syncing.has(descriptor) && call.to <= state.at) settle(file, ({ to }) => to === call.to);
}

/** @returns what a write puts into each page */
export function piecesOf(offset: number, bytes: Buffer): Piece[] {
  const pieces: Piece[] = [];
  for (let done = 0; done < bytes.length; ) {
    const page = Math.floor((offset + done) / PAGE_BYTES);
    const length = Math.min(bytes.length - done, (page + 1) * PAGE_BYTES - offset - done);
    pieces.push({
      ...{ kind: 'bytes', page, offset: offset + done },
      bytes: bytes.subarray(done, done + length),
    });
    done += length;
  }
  return pieces;
}

/** What had ended when a sync began is on the disk when that has ended. */
function sync(state: State, { path, from, to }: FileCall): void {
  if (to > state.at) return;
  const node = state.find(path);
  if (node?.kind === 'file') settle(node, (kept) => kept.to < from);
  if (node?.kind !== 'folder') return;
  for (const one of state.changes)
    if (one.to < from && one.names.some(({ folder }) => folder === node)) one.durable = true;
}

function settle(file: OpenFile, isIt: (kept: Kept) => boolean): void {
  for (const kept of file.pieces) if (isIt(kept)) kept.durable = true;
}
