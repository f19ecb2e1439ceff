import { parseDay } from './days.js';

/** A refused member of a control call's input. */
interface Objection {
  readonly field: string;
  readonly message: string;
  /** The accepted values, in words. */
  readonly allowed: string;
}

/** Invalid input of a control, from code or over `/_sim`. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';

  constructor(readonly objections: readonly Objection[]) {
    super(
      objections.map(({ field, message, allowed }) => `${field}: ${message}; allowed: ${allowed}`).join('\n'),
    );
  }
}

/** The accepted values of a member, as check and in words. */
export interface Rule {
  readonly allowed: string;
  accepts(value: unknown): boolean;
}

/** Checks an object against rules. @throws InvalidInput naming every unknown, missing or refused member */
export function checkMembers(
  input: unknown,
  rules: Readonly<Record<string, Rule>>,
  required: readonly string[] = [],
): asserts input is Record<string, unknown> {
  const known = Object.keys(rules).join(', ');
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const allowed = `an object of ${known}`;
    throw new InvalidInput([{ field: '(body)', message: `is ${describe(input)}`, allowed }]);
  }
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

export const text = (pattern: RegExp, allowed: string): Rule => ({
  allowed,
  accepts: (value) => typeof value === 'string' && pattern.test(value),
});

export const calendarDay: Rule = {
  allowed: 'a day, YYYY-MM-DD',
  accepts: (value) => typeof value === 'string' && parseDay(value) !== undefined,
};
