/**
 * A copy in memory of just its length, for what is kept: a slice would keep alive all that it was cut from, such as what
 * zlib works in, or the memory that Node shares among small buffers.
 */
export function inOwnMemory(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
