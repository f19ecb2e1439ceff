/** Runs checks one after another. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import { sentence } from '../lib/words.js';
import { LEVELS } from './finding.js';

/** The result of a check. */
export const Check = Type.Object(
  {
    name: Type.String(),
    level: Type.Enum([...LEVELS, 'skipped'], {
      description: 'skipped: not checked; `says` has the reason.',
    }),
    says: Type.String(),
    do: Type.Union([Type.String({ description: 'What to do.' }), Type.Null()]),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Absent: not known, or well.' })),
    details: Type.Optional(
      Type.String({ description: 'The last failed call, teams and requests that failed, as in the status.' }),
    ),
  },
  { title: 'Check' },
);
export type Check = Frozen<Static<typeof Check>>;

/** @returns a clause if all is well, else the finding, in sentences */
export type Look = () => Promise<string | Omit<Check, 'name'>>;

/** Runs all checks in order. A check that throws is not well; the others still run. */
export async function runChecks(looks: Readonly<Record<string, Look>>): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const [name, look] of Object.entries(looks)) {
    try {
      const found = await look();
      checks.push(
        typeof found === 'string' ? { name, level: 'well', says: found, do: null } : { name, ...found },
      );
    } catch (error) {
      const says = sentence((error instanceof Error ? error.message : String(error)).replaceAll('\n', '; '));
      checks.push({ name, level: 'not well', says, do: 'Fix the cause, and run doctor again.' });
    }
  }
  return checks;
}

export type CheckResult = Omit<Check, 'name'>;

const found =
  (level: Check['level']) =>
  (says: string, advice: string): CheckResult => ({ level, says, do: advice });

export const notWell = found('not well');
export const warning = found('warning');
export const skipped = (says: string): CheckResult => ({ level: 'skipped', says, do: null });
