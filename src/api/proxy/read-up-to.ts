/** Reads a stream up to a limit; a longer one is passed on as a stream. */
import { Readable } from 'node:stream';

type ReadUpTo =
  | { readonly whole: Buffer; readonly rest: null }
  /** The whole stream, including the bytes already read. */
  | { readonly whole: null; readonly rest: Readable };

interface Reading {
  /** Discards the rest. The connection of a request stays open for its answer. */
  readonly letGo?: () => unknown;
}

/** @throws the stream's error if it ends early */
export async function readUpTo(stream: Readable, maxBytes: number, reading: Reading = {}): Promise<ReadUpTo> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const { letGo = () => pieces.return?.() } = reading;
  const next = async (): Promise<Buffer | null> => (await pieces.next()).value ?? null;
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
  // One piece at a time: the rest stays in `stream`, where it counts as unread.
  return { whole: null, rest: Readable.from(all(), { objectMode: false, highWaterMark: 1 }) };
}
