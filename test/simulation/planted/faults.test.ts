/** Each fault that is planted for the simulation can still be planted. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import faults from './faults.json' with { type: 'json' };

it.each(faults)('can be planted: $name', ({ edits }) => {
  for (const { file, from } of edits) expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
});
