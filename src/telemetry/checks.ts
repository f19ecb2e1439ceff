/** Looks at one thing after the other, and tells of each what was found. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import { LEVELS } from './conditions.js';

/** One thing that was looked at, for people: well as well as ill. */
export const Check = Type.Object(
  {
    name: Type.String(),
    level: Type.Enum([...LEVELS, 'skipped'], {
      description: 'skipped: it could not be looked at; `says` tells why.',
    }),
    says: Type.String(),
    do: Type.Union([Type.String({ description: 'What to do.' }), Type.Null()]),
  },
  { title: 'Check' },
);
export type Check = Frozen<Static<typeof Check>>;

/** What a look finds: a clause when all is well, or what is not. */
export type Look = () => Promise<string | Omit<Check, 'name'>>;

/** Looks at everything, one after the other: a look that fails is a check that failed, and the next one goes on. */
export async function lookAtAll(looks: Readonly<Record<string, Look>>): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const [name, look] of Object.entries(looks)) {
    try {
      const found = await look();
      checks.push(
        typeof found === 'string' ? { name, level: 'well', says: found, do: null } : { name, ...found },
      );
    } catch (error) {
      const says = (error instanceof Error ? error.message : String(error)).replaceAll('\n', '; ');
      checks.push({ name, level: 'not well', says, do: 'correct what it names, and run doctor again' });
    }
  }
  return checks;
}
