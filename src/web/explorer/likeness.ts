/** How alike two names are. Pure. */

/** The share of pairs of letters that both have, without regard to case: 0 to 1. */
export function likeness(one: string, other: string): number {
  const pairsOf = (text: string) =>
    [...text.toLowerCase()].slice(1).map((letter, index) => text.toLowerCase().charAt(index) + letter);
  const [pairs, others] = [pairsOf(one), pairsOf(other)];
  const shared = pairs.filter((pair) => {
    const at = others.indexOf(pair);
    if (at >= 0) others.splice(at, 1);
    return at >= 0;
  });
  return shared.length / Math.max(1, pairs.length + others.length);
}
