/** Texts that are nearly right. Pure. */
import type { Chance } from '../../../simulation/chance-of-seed.js';

/** What has broken parsers before, in requests, JSON, YAML and CSV. */
const TOKENS = [
  ...'"\'\\{}[],:;&=%#?/+ \t\n\0\u202e\ufeff\ud800é１',
  ...'.. // \r\n %00 %zz %2e%2e %252e __proto__ constructor null true NaN -0 1e999 9007199254740993 -1 0x1 01 1.0'.split(
    ' ',
  ),
  ...'[] {} &advertiserId=2 &advertiserId[]=2 &_format=csv 2026-02-30 0000-00-00 9999-12-31 *a &a'.split(' '),
];
const MOST_CHANGES = 4;

/** @returns a text with one to four changes: pieces lost, doubled, moved or put in, letters changed */
export function mutated(text: string, chance: Chance): string {
  let changed = text;
  for (let left = chance.between(1, MOST_CHANGES); left > 0; left -= 1) changed = once(changed, chance);
  return changed;
}

function once(text: string, chance: Chance): string {
  const from = chance.below(text.length + 1);
  const to = Math.min(text.length, from + chance.between(1, 12));
  const [before, piece, after] = [text.slice(0, from), text.slice(from, to), text.slice(to)];
  switch (chance.below(7)) {
    case 0:
      return before + after;
    case 1:
      return before + piece.repeat(chance.between(2, 4)) + after;
    case 2:
      return before + chance.pick(TOKENS) + piece + after;
    case 3:
      return before + chance.pick(TOKENS) + after;
    case 4:
      return before;
    case 5:
      return piece + before + after;
    default:
      return (
        before + [...piece].map((letter) => String.fromCharCode(letter.charCodeAt(0) ^ 1)).join('') + after
      );
  }
}
