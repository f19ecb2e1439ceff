/** Where somebody probably meant to go who asked for an address at which there is nothing. Pure. */
import { nearName } from '../../lib/near-name.js';

const REPORTS = '/api/v1/report/';
/** A suggestion repeats what was sent, of a length that somebody reads. */
const LONGEST = 120;

/**
 * @param known addresses of this plane, without wildcards
 * @returns the address that is near, or undefined where none is
 */
export function nearPath(path: string, known: readonly string[]): string | undefined {
  const plain = path.toLowerCase().replace(/\/+$/, '');
  if (plain === '') return undefined;
  return (
    known.find((one) => one.toLowerCase() === plain) ??
    // Its beginning was left out: `/me`, `/v1/me`.
    known.find((one) => one.endsWith(plain)) ??
    // It was counted up, or left out in the middle: `/gateway/v2/me`, `/gateway/me`.
    known.find((one) => withoutVersion(one) === withoutVersion(plain)) ??
    OTHER_NAMES.find(([pattern, to]) => pattern.test(plain) && known.includes(to))?.[1] ??
    nearName(plain, known)
  );
}

/** @returns the report that is meant by an address which leaves out or misspells what stands before it */
export function nearReport(path: string): string | undefined {
  if (path.length > LONGEST) return undefined;
  const found = /^(?:\/api)?(?:\/v\d+)?\/reports?\/(.+?)\/*$/i.exec(path)?.[1];
  return found === undefined ? undefined : REPORTS + found;
}

function withoutVersion(path: string): string {
  return path.replace(/\/v\d+(?=\/)/, '');
}

/** What others call the same. */
const OTHER_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^\/(v\d\/)?(swagger|openapi|api-?docs?)\.(json|ya?ml)$/, '/openapi.json'],
  [/^\/(swagger|openapi|api-?docs?|docs?|documentation|redoc|help)\b/, '/docs'],
  [/^\/(health|health-?check|live|livez|ping)$/, '/healthz'],
  [/^\/(ready|readiness)$/, '/readyz'],
  [/^\/errors?\b/, '/docs/errors'],
];
