/** The platform request of a canonical report, and the identity of its cache entries. */
import { hash } from 'node:crypto';
import type { Report } from './canonicalize.js';
import { type Member, type Place, writeQueryText } from './given-parameters.js';
import { isSplit } from './parameters.js';

interface PlatformCall {
  readonly method: 'GET' | 'POST';
  /** Below the platform's base URL, with the query. */
  readonly target: string;
  /** JSON text of a POST. */
  readonly body: string | null;
}

/** @param from first day, instead of the report's; null: none. @param to last day */
export function buildPlatformCall(report: Report, from: string | null, to: string | null): PlatformCall {
  const members = [
    ...report.members,
    ...periodMember('dateFrom', from, report.places.from),
    ...periodMember('dateTo', to, report.places.to),
  ].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const query = writeQueryText(members.flatMap(({ pairs }) => pairs));
  const target = `/api/v1/report/${report.endpoint}${query === '' ? '' : `?${query}`}`;
  return { method: report.method, target, body: report.method === 'POST' ? writeBody(members) : null };
}

function periodMember(name: string, date: string | null, place: Place): Member[] {
  if (date === null) return [];
  return [
    place === 'query'
      ? { name, place, pairs: [{ name, value: date }], json: '' }
      : { name, place, pairs: [], json: JSON.stringify(date) },
  ];
}

function writeBody(members: readonly Member[]): string {
  const texts = members
    .filter(({ place }) => place === 'body')
    .map(({ name, json }) => `${JSON.stringify(name)}:${json}`);
  return `{${texts.join(',')}}`;
}

/** The report without any split, for `_totals=1`. */
export function unsplit(report: Report): Report {
  const members = report.members.filter(({ name }) => !isSplit(name));
  return { ...report, members, split: [] };
}

export interface ReportSeries {
  readonly report: Report;
  /** Identity of the report without its period: {@link seriesId}. */
  readonly series: string;
}

/** @param account label of the account behind the credential. @param baseUrl of the platform */
export function seriesId(report: Report, account: string, baseUrl: string): string {
  const call = buildPlatformCall(report, null, null);
  const ends = `${report.places.from}-${report.places.to}`;
  return digest([account, baseUrl, call.method, call.target, call.body ?? '', ends]);
}

/** SHA-256, base64url. Texts are length-prefixed, so that different lists have different concatenations. */
export function digest(parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('');
  return hash('sha256', text, 'base64url');
}

/** Calls that name a report by `endpoint` and `query`. */
const NAMES_A_REPORT =
  /\/(?:gateway\/v1\/(?:revisions|diff|finality|truth|explain)|admin\/v1\/cache\/explain)$/;

/** An endpoint alone, as in `campaigns/get?advertiserId=1`: neither a host nor a path from the root. */
const PATH_OF_REPORT = /^((?!(?:api|gateway|admin)\/)[A-Za-z0-9_~-]+(?:\/[A-Za-z0-9._~-]+)+)$/;

/**
 * Parses an address with any host, a gateway has many names; or an endpoint with its query.
 * @returns the query, URL-encoded, without `?`; null for the address of something else
 */
export function readReportAddress(text: string): { endpoint: string | null; query: string } | null {
  const [address = '', ...rest] = text.replace(/#.*$/s, '').split('?');
  if (rest.length === 0 && !/^(https?:\/)?\//i.test(text)) return { endpoint: null, query: text };
  const query = rest.join('?');
  const endpoint = (/\/api\/v1\/report\/(.+)$/.exec(address) ?? PATH_OF_REPORT.exec(address))?.[1];
  if (endpoint !== undefined) return { endpoint, query };
  if (NAMES_A_REPORT.test(address)) {
    const named = new URLSearchParams(query);
    return named.has('endpoint')
      ? { endpoint: named.get('endpoint'), query: named.get('query') ?? '' }
      : null;
  }
  return /\/./.test(address.replace(/^https?:\/\/[^/]*/i, '')) ? null : { endpoint: null, query };
}

/** Increased when normalisation or the form of entries changes, so that old entries are not read. */
const FORM = 'c5';

export interface EntryKey {
  /** Name in the store and of its lock. In a cluster the text in braces puts all of a series in one slot. */
  readonly id: string;
}

export function rowsKey(series: string, from: string | null, to: string | null): EntryKey {
  return { id: `${FORM}:{${series}}:w:${from ?? ''}:${to ?? ''}` };
}

export function bytesKey(series: string, from: string | null, to: string | null): EntryKey {
  return { id: `${FORM}:{${series}}:b:${from ?? ''}:${to ?? ''}` };
}

/** Lock name of a day. @param date ISO */
export function dayLock(series: string, date: string): string {
  return `${FORM}:{${series}}:d:${date}`;
}
