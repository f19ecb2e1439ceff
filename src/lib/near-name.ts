/** Names that are meant for another: a letter too many, too few, wrong, or two that changed places. Pure. */

/** Shorter names are too often one letter away from something that is meant. */
const LEAST_LENGTH = 6;

/** @returns the known name that was probably meant; undefined for a name that is known, or is like none */
export function nearName(name: string, known: Iterable<string>): string | undefined {
  if (name.length < LEAST_LENGTH) return undefined;
  let near: string | undefined;
  for (const one of known) {
    if (one === name) return undefined;
    if (one.length >= LEAST_LENGTH && isOneOff(name, one)) near ??= one;
  }
  return near;
}

/** Whether one edit leads from one text to the other. */
function isOneOff(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}
