/** Which format and which content coding an answer takes (RFC 9110, sections 12.5.1 and 12.5.3). */
import * as zlib from 'node:zlib';
import Negotiator from 'negotiator';
import { GatewayError } from '../../errors.js';
import type { Format } from './output-options.js';

export type Coding = 'identity' | 'gzip' | 'br' | 'zstd';

/** With their charset, for some clients ask for it, and a range with a parameter fits no type without it. */
const TYPES: readonly (readonly [Format, type: string])[] = [
  ['json', 'application/json; charset=utf-8'],
  ['csv', 'text/csv; charset=utf-8'],
  ['ndjson', 'application/x-ndjson; charset=utf-8'],
  ['raw', 'application/vnd.dsp.raw; charset=utf-8'],
];

/** What can be given; zstd only where the runtime has it. The caller's order decides among equals. */
const CODINGS: readonly Coding[] = [
  'zstdCompress' in zlib ? ['zstd' as const] : [],
  'br' as const,
  'gzip' as const,
  'identity' as const,
].flat();

/**
 * `_format` wins over `accept`; where `accept` leaves it open the team's default decides.
 * @throws GatewayError `not_acceptable`
 */
export function negotiateFormat(asked: Format | null, accept: string | undefined, fallback: Format): Format {
  if (asked !== null) return asked;
  if (accept === undefined || accept.trim() === '' || accept === '*/*') return fallback;
  // The default comes first, for a range such as */* takes the first.
  const offered = TYPES.toSorted(([a], [b]) => Number(b === fallback) - Number(a === fallback));
  const chosen = new Negotiator({ headers: { accept } }).mediaType(offered.map(([, type]) => type));
  const found = offered.find(([, type]) => type === chosen);
  if (found === undefined) throw new GatewayError('not_acceptable');
  return found[0];
}

/** Whether the caller wants no plain body, and there is a coding to give instead. */
export function refusesIdentity(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || !/q *= *0/i.test(acceptEncoding)) return false;
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
  return negotiator.encoding(['identity']) === undefined && negotiator.encoding(CODINGS) !== undefined;
}

/** Identity when nothing else fits: a body in plain form is better than none (RFC 9110, section 12.5.3). */
export function negotiateCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined || acceptEncoding === '') return 'identity';
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
  const chosen = negotiator.encoding(CODINGS);
  return (chosen as Coding | undefined) ?? 'identity';
}
