/** Messages of a Redis subscription, in another order and some of them twice; all else passes as it comes. */
import type { Chance } from '../simulation/chance-of-seed.js';

const MESSAGE = /^[*>]\d+\r\n\$\d+\r\n[sp]?message\r\n/;
const SUBSCRIPTION = /^[*>]\d+\r\n\$\d+\r\n[sp]?(?:message|subscribe)\r\n/;
/** The longest that one is held back, milliseconds. */
const HELD_MS = 400;
const TWICE = 0.3;

export interface Shuffle {
  /** Half of a reply has come: what comes next is to be taken, too. */
  readonly isAmid: boolean;
  /** @returns false: these bytes are of no subscription, and the caller passes them on */
  take(bytes: Buffer): boolean;
}

/** @param write to the one who subscribed */
export function createShuffle(write: (bytes: Buffer) => void, chance: Chance): Shuffle {
  let rest: Buffer = Buffer.alloc(0);
  return {
    get isAmid() {
      return rest.length > 0;
    },
    take(bytes) {
      if (rest.length === 0 && !isOf(SUBSCRIPTION, bytes)) return false;
      rest = Buffer.concat([rest, bytes]);
      for (let end = endOf(rest, 0); end !== null; end = endOf(rest, 0)) {
        const reply = rest.subarray(0, end);
        rest = rest.subarray(end);
        const copies = isOf(MESSAGE, reply) ? (chance.is(TWICE) ? 2 : 1) : 0;
        if (copies === 0) write(reply);
        for (let copy = 0; copy < copies; copy += 1) setTimeout(() => write(reply), chance.below(HELD_MS));
      }
      return true;
    },
  };
}

const isOf = (pattern: RegExp, bytes: Buffer) => pattern.test(bytes.toString('latin1', 0, 64));

/** Of the reply that begins at `from` (RESP). @returns where it ends; null: not all of it is there */
function endOf(bytes: Buffer, from: number): number | null {
  const lineEnd = bytes.indexOf('\r\n', from);
  if (lineEnd < 0) return null;
  const [kind, size] = [
    bytes.toString('latin1', from, from + 1),
    Number(bytes.toString('latin1', from + 1, lineEnd)),
  ];
  let end: number | null = lineEnd + 2;
  if (kind === '$' && size >= 0) end += size + 2;
  if (kind === '*' || kind === '>')
    for (let item = 0; item < size && end !== null; item += 1) end = endOf(bytes, end);
  return end !== null && end <= bytes.length ? end : null;
}
