import { parseDay } from './days.js';

/** One member of a control call's input that was refused. */
export interface Objection {
  readonly field: string;
  readonly message: string;
  /** What would have been accepted, in words. */
  readonly allowed: string;
}

/** Bad input to one of the simulator's own controls, from code or over `/_sim`. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
  readonly objections: readonly Objection[];

  constructor(objections: readonly Objection[]) {
    super(
      objections.map(({ field, message, allowed }) => `${field}: ${message}; allowed: ${allowed}`).join('\n'),
    );
    this.objections = objections;
  }
}

/** What a member may be, and how to say so. */
export interface Rule {
  readonly allowed: string;
  accepts(value: unknown): boolean;
}

/**
 * Checks an object against a table of rules; members are optional unless `required` names them.
 *
 * @throws InvalidInput naming every unknown, missing or refused member
 */
export function checkMembers(
  input: unknown,
  rules: Readonly<Record<string, Rule>>,
  required: readonly string[] = [],
): asserts input is Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const allowed = `an object of ${Object.keys(rules).join(', ')}`;
    throw new InvalidInput([{ field: '(body)', message: `is ${describe(input)}`, allowed }]);
  }
  const known = Object.keys(rules).join(', ');
  const objections: Objection[] = [];
  for (const [field, value] of Object.entries(input)) {
    const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
    if (!rule) objections.push({ field, message: 'is not known', allowed: known });
    else if (!rule.accepts(value)) {
      objections.push({ field, message: `is ${describe(value)}`, allowed: rule.allowed });
    }
  }
  for (const field of required) {
    if (!Object.hasOwn(input, field)) {
      objections.push({ field, message: 'is missing', allowed: rules[field]?.allowed ?? '' });
    }
  }
  if (objections.length > 0) throw new InvalidInput(objections);
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  return (JSON.stringify(value) ?? typeof value).slice(0, 80);
}

export const whole = (least: number, most: number): Rule => ({
  allowed: `a whole number from ${least} to ${most}`,
  accepts: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
});

export const oneOf = (values: readonly unknown[]): Rule => ({
  allowed: values.map((value) => JSON.stringify(value)).join(', '),
  accepts: (value) => values.includes(value),
});

/** Text matching a pattern; `allowed` describes it. */
export const text = (pattern: RegExp, allowed: string): Rule => ({
  allowed,
  accepts: (value) => typeof value === 'string' && pattern.test(value),
});

export const calendarDay: Rule = {
  allowed: 'a day, YYYY-MM-DD',
  accepts: (value) => typeof value === 'string' && parseDay(value) !== undefined,
};
