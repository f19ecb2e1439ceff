import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Says what is wrong with a file of an environment. */
export class DataFileDamaged extends Error {
  override readonly name = 'DataFileDamaged';
}

/** What a page begins with: number, transaction, flags, bounds. */
export const HEADER_BYTES = 24;

/** @throws DataFileDamaged */
export function fail(what: string): never {
  throw new DataFileDamaged(what);
}

/** A file being looked at. */
export interface DataFile {
  readonly bytes: number;
  /** @throws DataFileDamaged when the file ends before */
  read(position: number, length: number): Buffer;
}

export function withFile<T>(path: string, use: (file: DataFile) => T): T {
  const handle = openSync(path, 'r');
  try {
    const bytes = fstatSync(handle).size;
    return use({
      bytes,
      read(position, length) {
        if (position + length > bytes) fail(`it is cut off: ${bytes} bytes, ${position + length} are needed`);
        const buffer = Buffer.alloc(length);
        for (let done = 0; done < length; ) {
          const read = readSync(handle, buffer, done, length - done, position + done);
          if (read === 0) fail('it became shorter');
          done += read;
        }
        return buffer;
      },
    });
  } finally {
    closeSync(handle);
  }
}

/** @throws DataFileDamaged when it is no number that can be counted to */
export function whole(bytes: Buffer): number {
  const number = bytes.readBigUInt64LE();
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) fail('a number is far too large');
  return Number(number);
}
