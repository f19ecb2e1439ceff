/**
 * The endpoint of a report: its form if given as a value (as a path it is checked by `api/http/path-gate.ts`), and misspelt names.
 */
import { GatewayError } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { isWithin } from '../../lib/near-name.js';

/** Without segments `.` and `..`. */
const ENDPOINT = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

export const ENDPOINT_FAULT = mustBe('endpoint', 'the path of a report, e.g. campaigns/get');

export function isEndpointPath(text: unknown): text is string {
  return typeof text === 'string' && ENDPOINT.test(text);
}

/** Letters by which a misspelt part may differ; a short part only by a letter that is missing, added or swapped. */
const MOST_EDITS = 2;
const SHORT = 6;

/** @throws GatewayError `not_found` for an undeclared endpoint that is one or two letters off a declared one */
export function refuseMisspelt(endpoint: string, declared: ReadonlyMap<string, unknown>): void {
  if (declared.has(endpoint)) return;
  const meant = [...declared.keys()].find((one) => isMisspelt(endpoint.toLowerCase(), one));
  if (meant === undefined) return;
  throw new GatewayError('not_found', {
    detail: `No report ${endpoint} is declared: did you mean ${meant}?`,
    help: `Use ${meant}; if the platform has ${endpoint} too, ask your operator to declare it in report.endpoints.`,
  });
}

/** `stats2/get` and `stats/get` differ on purpose. */
function isMisspelt(endpoint: string, declared: string): boolean {
  const digits = (text: string) => text.replace(/\D/g, '');
  if (digits(endpoint) !== digits(declared) || !isWithin(endpoint, declared, MOST_EDITS)) return false;
  const [given, known] = [endpoint.split('/'), declared.split('/')];
  return given.every((part, at) => {
    const other = known[at] ?? '';
    return other.length < SHORT ? isSlip(part, other) : isWithin(part, other, MOST_EDITS);
  });
}

/** `gets` and `gte` are slips; `set` and `geo` are other words than `get`. */
function isSlip(part: string, known: string): boolean {
  if (part.length !== known.length) return isWithin(part, known, 1);
  return (
    part === known || ([...part].sort().join('') === [...known].sort().join('') && isWithin(part, known, 1))
  );
}
