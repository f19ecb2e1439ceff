/** Strict UTF-8 decoding: replacement characters would silently alter names. */
import { isUtf8 } from 'node:buffer';

export class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
  /** @param line the first invalid one, counted from 1 */
  constructor(readonly line: number) {
    super(`invalid UTF-8 at line ${line}`);
  }
}

/** @throws NotUtf8 */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  // No byte of a multi-byte character is a line break.
  let [line, start] = [1, 0];
  for (;;) {
    const end = bytes.indexOf(0x0a, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) throw new NotUtf8(line);
    [line, start] = [line + 1, end + 1];
  }
}
