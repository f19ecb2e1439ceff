/**
 * Offsets of the feed. An offset names the message that it follows, with a digest of its entry: after a loss of the end of the
 * feed (failover, backup, emptied store) that entry is gone, or another one, and the reader is told so instead of missing changes.
 */
import { FEED_START, type FeedEntry } from '../../store/changes-port.js';
import { digest } from '../query/platform-call.js';

export interface Offset {
  readonly incarnation: string;
  /** Of the entry; {@link FEED_START}: before the first one. */
  readonly position: string;
  readonly check: string;
  /** Messages of the entry that were read; {@link ALL}: all of them. */
  readonly count: number;
}

/** Greater than the number of days of a month, and of two digits, so that offsets sort as text. */
export const ALL = 99;

const CHECK_CHARS = 6;
const FORM = /^([a-z0-9]{1,16})_(\d{15}-\d{9})_([A-Za-z0-9_-]{6})_(\d{2})$/;

export function offsetAfter(incarnation: string, entry: FeedEntry | null, count = ALL): Offset {
  const position = entry?.position ?? FEED_START;
  return { incarnation, position, check: checkOf(entry), count };
}

/** Whether an offset is of this entry. */
export const isOf = ({ position, check }: Offset, entry: FeedEntry | undefined): boolean =>
  entry !== undefined && entry.position === position && checkOf(entry) === check;

function checkOf(entry: FeedEntry | null): string {
  return digest([entry?.text ?? '']).slice(0, CHECK_CHARS);
}

/** Below 64 characters; later ones are greater as text. */
export function writeOffset({ incarnation, position, check, count }: Offset): string {
  return `${incarnation}_${position}_${check}_${String(count).padStart(2, '0')}`;
}

/** @returns null for a text that is no offset of a feed */
export function readOffset(text: string): Offset | null {
  const [, incarnation = '', position = '', check = '', count = ''] = FORM.exec(text) ?? [];
  return incarnation === '' ? null : { incarnation, position, check, count: Number(count) };
}
