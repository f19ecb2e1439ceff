/** The faults that many calls have, each with its next step. Pure. */
import type { FieldFault } from '../errors.js';
import { clipName } from './http/problem.js';
import { didYouMean, meantName } from './near-name.js';

/** @param form what to send: the rest of `must be …` */
export function mustBe(param: string, form: string): FieldFault {
  return { param, message: `must be ${form}`, help: `Send ${clipName(param) || 'the request'} as ${form}.` };
}

export function isRepeated(param: string): FieldFault {
  return { param, message: 'is given more than once', help: `Send ${clipName(param)} once.` };
}

/** @param known all names that the call has */
export function isUnknown(param: string, known: readonly string[]): FieldFault {
  const [name, meant, names] = [clipName(param), meantName(param, known), known.join(', ')];
  if (meant !== undefined)
    return { param, message: `is unknown: ${didYouMean(meant)}`, help: `Send ${meant} instead of ${name}.` };
  if (names === '')
    return { param, message: 'is unknown; this call has no parameters', help: `Omit ${name}.` };
  const help = `Omit ${name}, or send one of these instead: ${names}.`;
  return { param, message: `is unknown; allowed: ${names}`, help };
}

/** @param step what to do instead, beginning with a verb */
export function withStep(param: string, fault: string, step: string): FieldFault {
  return { param, message: `${fault}: ${step}`, help: `${step.charAt(0).toUpperCase()}${step.slice(1)}.` };
}
