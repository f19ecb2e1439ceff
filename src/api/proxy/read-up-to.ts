/** Reads a stream as far as it is small enough to be kept whole, and streams it otherwise. */
import { Readable } from 'node:stream';

type ReadUpTo =
  | { readonly whole: Buffer; readonly rest: null }
  /** What streams it all, its beginning included. */
  | { readonly whole: null; readonly rest: Readable };

interface Reading {
  /** Shown each piece, and null at the end; what it throws breaks off the rest, too. */
  readonly look?: (piece: Buffer | null) => void;
  /** Where nobody wants the rest. A request is then let go of without its connection, which still has to be answered. */
  readonly letGo?: () => unknown;
}

/** @throws the stream's error when it breaks off before its end */
export async function readUpTo(stream: Readable, maxBytes: number, reading: Reading = {}): Promise<ReadUpTo> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const { look = () => {}, letGo = () => pieces.return?.() } = reading;
  const next = async (): Promise<Buffer | null> => {
    const { value = null } = await pieces.next();
    look(value);
    return value;
  };
  const taken: Buffer[] = [];
  for (let size = 0; size <= maxBytes; ) {
    const piece = await next();
    if (piece === null) return { whole: Buffer.concat(taken), rest: null };
    taken.push(piece);
    size += piece.length;
  }
  async function* all(): AsyncGenerator<Buffer> {
    try {
      yield* taken;
      for (let piece = await next(); piece !== null; piece = await next()) yield piece;
    } finally {
      await letGo();
    }
  }
  // One piece at a time: what waits for its reader waits in `stream`, where it is seen.
  return { whole: null, rest: Readable.from(all(), { objectMode: false, highWaterMark: 1 }) };
}
