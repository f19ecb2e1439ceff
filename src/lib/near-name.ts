/** Detects misspelled names: one letter inserted, deleted, replaced, or two swapped. Pure. */

/** Shorter names are too often one edit away from a valid one. */
const LEAST_LENGTH = 6;

/** @returns the known name that was probably meant; undefined for a known name, or without a similar one */
export function nearName(name: string, known: Iterable<string>): string | undefined {
  if (name.length < LEAST_LENGTH) return undefined;
  let near: string | undefined;
  for (const one of known) {
    if (one === name) return undefined;
    if (one.length >= LEAST_LENGTH && isOneOff(name, one)) near ??= one;
  }
  return near;
}

function isOneOff(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}
