/**
 * A copy in its own memory, for long-lived bytes: a slice keeps its whole buffer alive, such as zlib's output or Node's
 * pool of small buffers.
 */
export function inOwnMemory(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
