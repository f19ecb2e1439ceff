/**
 * The simulator's only source of chance. Integer arithmetic (the finaliser of MurmurHash3) is the same on every machine.
 * @returns an integer from 0 to 2^32 − 1
 */
export function hash(seed: number, topic: number, a = 0, b = 0): number {
  return scramble(scramble(scramble(scramble(seed) ^ topic) ^ a) ^ b) >>> 0;
}

function scramble(value: number): number {
  let bits = (value + 0x9e3779b9) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
