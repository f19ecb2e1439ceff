/** The stamp before a value in Redis: big endian, changed by each write. */
export const STAMP_BYTES = 6;

export function stampOf(bytes: Buffer): number {
  return bytes.readUIntBE(0, STAMP_BYTES);
}

export function stampBytes(stamp: number): Buffer {
  const bytes = Buffer.alloc(STAMP_BYTES);
  bytes.writeUIntBE(stamp, 0, STAMP_BYTES);
  return bytes;
}
