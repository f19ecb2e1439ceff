/** The report endpoints in the gateway's OpenAPI document. Pure. */
import { FIRST_QUESTION } from './question.js';

export interface Endpoint {
  /** `campaigns/get` */
  readonly name: string;
  /** Parameters that split, `byDate`. */
  readonly splits: readonly string[];
  /** Whether the currency of spend may be chosen. */
  readonly hasCurrency: boolean;
}

/** The used members of the document. */
export interface Described {
  readonly paths?: Readonly<Record<string, { get?: { parameters?: { name?: string; in?: string }[] } }>>;
}

const PREFIX = '/api/v1/report/';

/** @returns declared endpoints, campaigns first */
export function endpointsOf({ paths = {} }: Described): Endpoint[] {
  const found = Object.entries(paths).flatMap(([path, { get }]): Endpoint[] => {
    if (!path.startsWith(PREFIX) || path.includes('{') || get === undefined) return [];
    const names = (get.parameters ?? []).flatMap((one) => (one.in === 'query' ? [one.name ?? ''] : []));
    const splits = names.filter((name) => /^by[A-Z]\w*$/.test(name));
    return [{ name: path.slice(PREFIX.length), splits, hasCurrency: names.includes('spentBased') }];
  });
  const isFirst = ({ name }: Endpoint) => (name === FIRST_QUESTION.endpoint ? 0 : 1);
  return found.sort((a, b) => isFirst(a) - isFirst(b) || a.name.localeCompare(b.name));
}
