import { CATALOGUE, remedyOf } from '../../errors/catalogue.js';
import type { ErrorCode, FieldFault, GatewayError, KnownPeriod } from '../../errors.js';
import { span } from '../words.js';

/** A problem document (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** What to do next. */
  readonly help: string;
  readonly code: ErrorCode;
  readonly requestId: string;
  /** At most 20 of them. */
  readonly errors?: readonly FieldFault[];
  /** Number of faults, if `errors` does not list all of them. */
  readonly errorCount?: number;
  /** Days of the report that are cached, newest first, at most 5 periods. */
  readonly known?: readonly KnownPeriod[];
  readonly upstream?: unknown;
}

/** Faults listed in `errors`. */
const MAX_FAULTS = 20;
/** Characters of a name or message, which may be as long as the body. */
const MAX_TEXT = 300;
/** Characters of `detail` and `help`. */
const MAX_SENTENCE = 1500;

/** At most so many characters and an ellipsis; never cuts a character in half. */
export function clip(text: string, most = MAX_TEXT): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** Characters of a name in a sentence. */
const MAX_NAME = 60;

/** The caller's name of a parameter, for `detail` and `help`. */
export function clipName(name: string): string {
  return clip(name, MAX_NAME);
}

function listed(faults: readonly FieldFault[]): Pick<Problem, 'errors' | 'errorCount'> {
  const errors = faults
    .slice(0, MAX_FAULTS)
    .map(({ param, message }) => ({ param: clip(param), message: clip(message) }));
  return faults.length > MAX_FAULTS ? { errors, errorCount: faults.length } : { errors };
}

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** Faults whose corrections `help` lists. */
const MAX_CORRECTIONS = 5;
/** Characters of `detail` made from a fault. */
const MAX_FAULT = 200;

/** `detail` of a list of faults: the first one, and their number. `help`: the corrections. */
export function describeFaults([first, ...others]: readonly [FieldFault, ...FieldFault[]]): {
  readonly detail: string;
  readonly help: string;
} {
  const more = others.length === 0 ? '' : ` (1 of ${others.length + 1} faults)`;
  const subject = first.param === '' ? 'The request' : clipName(first.param);
  const fault = shorten(`${subject} ${withoutMarks(first.message)}`, MAX_FAULT - more.length - 1);
  const isOfOne = others.every(({ param }) => param === first.param);
  return {
    detail: `${fault}${/[.?!…]$/.test(fault) ? '' : '.'}${more}`,
    help: isOfOne
      ? (first.help ??
        `Correct ${clipName(first.param) || 'the request'} as detail says, then send the request again.`)
      : helpOfMany([first, ...others]),
  };
}

function helpOfMany(faults: readonly FieldFault[]): string {
  const listed = faults.slice(0, MAX_CORRECTIONS).map(({ param, message, help }) => {
    const correction = help ?? `correct ${clipName(param) || 'the request'}, which ${withoutMarks(message)}`;
    return shorten(correction.charAt(0).toLowerCase() + correction.slice(1).replace(/[.?]$/, ''), MAX_FAULT);
  });
  const rest = faults.length > MAX_CORRECTIONS ? ['correct the others in errors'] : [];
  const text = [...new Set([...listed, ...rest])].join('; ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Cuts between words. */
function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, text.lastIndexOf(' ', most - 1)).replace(/,$/, '')} …` : text;
}

function describeError({ code, options }: GatewayError) {
  const { errors = [], detail, help, retryAfterS } = options;
  const [first, ...others] = errors;
  // Only these codes name fields to a caller whose key or admin token is valid.
  const namesFields = first !== undefined && /^(?:invalid_(?:query|body)|undeclared_parameter)$/.test(code);
  const ofFaults = namesFields ? describeFaults([first, ...others]) : null;
  const entry = CATALOGUE[code];
  const wait = retryAfterS === undefined ? undefined : span(retryAfterS);
  return {
    detail: detail ?? ofFaults?.detail ?? withoutMarks(entry.meaning),
    help: help ?? ofFaults?.help ?? withoutMarks(remedyOf(entry, wait)),
  };
}

/** Without the backticks, which mark code on the error's page. */
function withoutMarks(text: string): string {
  return text.replaceAll('`', '');
}

export function toProblem(error: GatewayError, requestId: string): Problem {
  const { detail, help } = describeError(error);
  return {
    type: `/docs/errors/${error.code}`,
    title: CATALOGUE[error.code].title,
    status: error.status,
    detail: clip(detail, MAX_SENTENCE),
    help: clip(help, MAX_SENTENCE),
    code: error.code,
    requestId,
    ...(error.options.errors ? listed(error.options.errors) : {}),
    ...(error.options.known === undefined ? {} : { known: error.options.known }),
    ...(error.options.upstream === undefined ? {} : { upstream: error.options.upstream }),
  };
}
