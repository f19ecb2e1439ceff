/**
 * A document of the series: the cells of one hour by the minute, or of one day by the hour, as varints. Pure.
 *
 *   <form>.<checksum>.<writers>.<names>.<cells in base64>
 *
 * A cell is the distance to the one before, a mask of its numbers that are not 0, and those. The writers, each with the number
 * of its last batch, are what a batch of unknown outcome is recognized by.
 */
import { crc32 } from 'node:zlib';
import { CELL_SIZE, type Cell, emptyCell, mergeInto } from './cell.js';

export interface Page {
  /** By the slot: the minute of the hour, or the hour of the day. */
  readonly cells: ReadonlyMap<number, Cell>;
  /** Which of a writer's batches was the last to be added; whoever wrote last stands last. */
  readonly writers: ReadonlyMap<string, number>;
  /** Teams that have a page of their own for the same day. */
  readonly names: readonly string[];
}

export const EMPTY_PAGE: Page = { cells: new Map(), writers: new Map(), names: [] };

/** What one process counted, to be added to a page. */
export interface Batch {
  readonly cells: ReadonlyMap<number, Cell>;
  readonly names: ReadonlySet<string>;
}

const FORM = '1';
const SLOTS = 60;
/** Whoever wrote before so many others has long been told whether it did. */
const MAX_WRITERS = 64;

/** @param writer letters and digits. @param maxNames further names are left out */
export function addBatch(page: Page, batch: Batch, writer: string, sequence: number, maxNames: number): Page {
  const writers = [...page.writers].filter(([id]) => id !== writer);
  const names = new Set(page.names);
  for (const name of batch.names) if (names.size < maxNames) names.add(name);
  return {
    cells: mergedCells([page.cells, batch.cells]),
    writers: new Map([...writers.slice(1 - MAX_WRITERS), [writer, sequence]]),
    names: [...names],
  };
}

/** @returns cells of its own */
export function mergedCells(parts: readonly ReadonlyMap<number, Cell>[]): Map<number, Cell> {
  const merged = new Map<number, Cell>();
  for (const cells of parts) {
    for (const [slot, more] of cells) {
      const cell = merged.get(slot);
      if (cell === undefined) merged.set(slot, more.slice());
      else mergeInto(cell, more);
    }
  }
  return merged;
}

export function encodePage({ cells, writers, names }: Page): string {
  const bytes: number[] = [];
  let before = -1;
  for (const [slot, cell] of [...cells].sort(([one], [other]) => one - other)) {
    writeNumber(bytes, slot - before);
    before = slot;
    let mask = 0;
    for (let at = 0; at < CELL_SIZE; at += 1) if (cell[at] !== 0) mask += 2 ** at;
    writeNumber(bytes, mask);
    for (const number of cell) if (number !== 0) writeNumber(bytes, number);
  }
  const shown = [...writers].map(([id, sequence]) => `${id}:${sequence.toString(36)}`).join(',');
  const rest = `${shown}.${names.join(',')}.${Buffer.from(bytes).toString('base64')}`;
  return `${FORM}.${crc32(rest).toString(36)}.${rest}`;
}

/** @returns `foreign` for what another release has written, which is left as it is */
export function decodePage(text: string): Page | 'damaged' | 'foreign' {
  const [form = '', sum, ...parts] = text.split('.');
  if (form !== FORM) return /^\d{1,3}$/.test(form) && sum !== undefined ? 'foreign' : 'damaged';
  const [writers, names, cells] = parts;
  if (writers === undefined || names === undefined || cells === undefined) return 'damaged';
  if (parts.length !== 3 || crc32(parts.join('.')).toString(36) !== sum) return 'damaged';
  const read = readCells(Buffer.from(cells, 'base64'));
  if (read === null) return 'damaged';
  return {
    cells: read,
    writers: new Map(listed(writers).map(readWriter)),
    names: listed(names),
  };
}

function listed(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

function readWriter(text: string): [string, number] {
  const [id = '', sequence = ''] = text.split(':');
  return [id, Number.parseInt(sequence, 36) || 0];
}

function readCells(bytes: Buffer): Map<number, Cell> | null {
  const cells = new Map<number, Cell>();
  const reader = { bytes, at: 0 };
  let slot = -1;
  while (reader.at < bytes.length) {
    const distance = readNumber(reader);
    slot += distance;
    if (!(distance > 0 && slot < SLOTS)) return null;
    let mask = readNumber(reader);
    if (!(mask < 2 ** CELL_SIZE)) return null;
    const cell = emptyCell();
    for (let at = 0; mask > 0; at += 1, mask = Math.floor(mask / 2)) {
      if (mask % 2 === 0) continue;
      const number = readNumber(reader);
      if (Number.isNaN(number)) return null;
      cell[at] = number;
    }
    cells.set(slot, cell);
  }
  return cells;
}

/** Seven bits a byte, the lowest first; the highest bit says that there are more. */
function writeNumber(bytes: number[], value: number): void {
  let left = value;
  while (left >= 128) {
    bytes.push((left % 128) + 128);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
}

/** @returns NaN where the bytes end too soon, or the number is beyond what is counted */
function readNumber(reader: { readonly bytes: Buffer; at: number }): number {
  let value = 0;
  for (let scale = 1; reader.at < reader.bytes.length; scale *= 128) {
    const byte = reader.bytes[reader.at] as number;
    reader.at += 1;
    value += (byte % 128) * scale;
    if (byte < 128) return value <= Number.MAX_SAFE_INTEGER ? value : Number.NaN;
    if (scale > 2 ** 49) return Number.NaN;
  }
  return Number.NaN;
}
