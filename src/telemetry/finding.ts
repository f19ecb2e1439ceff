/** The form of what can be wrong with a gateway, and of what is said of it. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import type { GaugeRow, Measured } from './measured.js';

/** Parts whose condition each process shares with the others as a text. */
export const HEALTH_PARTS = ['store', 'credential', 'platform'] as const;
export type HealthPart = (typeof HEALTH_PARTS)[number];

export const LEVELS = ['well', 'starting', 'warning', 'not well'] as const;

export const Finding = Type.Object(
  {
    level: Type.Enum(['starting', 'warning', 'not well'], { description: 'starting: not a fault.' }),
    part: Type.Enum([
      ...HEALTH_PARTS,
      'slots',
      'log',
      'clock',
      'settings',
      'secrets',
      'writes',
      'sign-in',
      'gateway',
    ]),
    says: Type.String({ description: 'What is wrong, and its effect, in one sentence.' }),
    do: Type.String({ description: 'What to do, in one sentence.' }),
  },
  { title: 'Finding' },
);
export type Finding = Frozen<Static<typeof Finding>>;

/** With a level, if it is not the condition's. */
export type Advice = Pick<Finding, 'says' | 'do'> & { readonly level?: Finding['level'] };

export interface Condition {
  readonly part: Exclude<Finding['part'], 'gateway'>;
  /** Its text in `/readyz` and status, to which details may be appended. */
  readonly text: string;
  readonly level: Finding['level'];
  /** Whether this process has it. @returns true, or `text` with details */
  readonly read: (gateway: Measured) => string | boolean;
  /** @param text as reported by the process that has it, which may be another one */
  readonly advice: (gateway: Measured, text: string) => Advice | readonly Advice[];
  readonly gauge?: GaugeRow;
  /** The rule of `helm/files/rules.yaml`; null: no alert. */
  readonly alert: string | null;
}
