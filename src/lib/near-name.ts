/** Detects misspelled names: letters inserted, deleted, replaced, or two swapped. Pure. */

/** Letters in which a name that is wrong may differ from the one that was meant: one of four, at most two. */
const editsIn = (name: string): number => Math.min(2, Math.floor(name.length / 4));

/** The same of a name that may be right as it is: shorter ones are too often one letter away from a known one. */
export const editsInDoubt = (name: string): number => (name.length < 6 ? 0 : 1);

/** @returns the known name that was probably meant, the nearest first; undefined for a known name, or without a similar one */
export function nearName(name: string, known: Iterable<string>, mostEdits = editsIn): string | undefined {
  const all = [...known];
  if (all.includes(name)) return undefined;
  for (let edits = 1; edits <= mostEdits(name); edits += 1) {
    const near = all.find((one) => edits <= mostEdits(one) && isWithin(name, one, edits));
    if (near !== undefined) return near;
  }
  return undefined;
}

/** The known name in another case or with other marks, or else a similar one. */
export function meantName(name: string, known: readonly string[]): string | undefined {
  const same = known.find((one) => plainName(one) === plainName(name));
  if (same !== undefined) return same;
  const near = nearName(
    name.toLowerCase(),
    known.map((one) => one.toLowerCase()),
  );
  return known.find((one) => one.toLowerCase() === near);
}

/** Without case, `_ . - [ ]`, white space and control characters, which a platform may ignore. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_.\-[\]\s\p{Cc}]/gu, '');
}

/** @param meant at least one */
export function didYouMean(...meant: readonly string[]): string {
  return `did you mean ${meant.map((name) => `\`${name}\``).join(' or ')}?`;
}

/** Whether at most `edits` letters inserted, deleted, replaced or swapped with the next one turn one text into the other. */
export function isWithin(a: string, b: string, edits: number): boolean {
  if (Math.abs(a.length - b.length) > edits) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA === restB) return true;
  if (edits === 0) return false;
  const isSwapped = restA[0] === restB[1] && restA[1] === restB[0];
  return (
    isWithin(restA.slice(1), restB.slice(1), edits - 1) ||
    isWithin(restA.slice(1), restB, edits - 1) ||
    isWithin(restA, restB.slice(1), edits - 1) ||
    (isSwapped && isWithin(restA.slice(2), restB.slice(2), edits - 1))
  );
}
