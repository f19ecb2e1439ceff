/** The report endpoints in the gateway's OpenAPI document. Pure. */
import { titleOf } from './columns.js';
import { currencyIn } from './numbers.js';
import { FIRST_QUESTION, type Question, SPLIT } from './question.js';

export interface Endpoint {
  /** `campaigns/get` */
  readonly name: string;
  /** Parameters that split, `byDate`. */
  readonly splits: readonly string[];
  /** Whether the currency of spend may be chosen. */
  readonly hasCurrency: boolean;
  /** Of its money, unless rows or the query say another; null: unknown. */
  readonly currency: string | null;
}

interface DescribedReport {
  readonly parameters?: readonly { readonly name?: string; readonly in?: string }[];
  readonly 'x-currency'?: string;
}

/** The used members of the document. */
export interface Described {
  readonly paths?: Readonly<Record<string, { get?: DescribedReport }>>;
}

/** `creatives/daily/get` as `Creatives daily`. */
export const endpointTitle = (name: string): string =>
  titleOf(name.replace(/\/get$/, '').replaceAll(/[/_-]+/g, ' '));

const PREFIX = '/api/v1/report/';

/** @returns declared endpoints, campaigns first */
export function endpointsOf({ paths = {} }: Described): Endpoint[] {
  const found = Object.entries(paths).flatMap(([path, { get }]): Endpoint[] => {
    if (!path.startsWith(PREFIX) || path.includes('{') || get === undefined) return [];
    const names = (get.parameters ?? []).flatMap((one) => (one.in === 'query' ? [one.name ?? ''] : []));
    const splits = names.filter((name) => SPLIT.test(name));
    const name = path.slice(PREFIX.length);
    const currency = currencyIn(get['x-currency']);
    return [{ name, splits, hasCurrency: names.includes('spentBased'), currency }];
  });
  const isFirst = ({ name }: Endpoint) => (name === FIRST_QUESTION.endpoint ? 0 : 1);
  return found.sort((a, b) => isFirst(a) - isFirst(b) || a.name.localeCompare(b.name));
}

/** What is asked before anybody chose: the last 30 days of the first report, as split as it can be. */
export function firstQuestion([first]: readonly Endpoint[], advertiserId: string): Question {
  const { endpoint, splits } = FIRST_QUESTION;
  return {
    ...FIRST_QUESTION,
    advertiserId,
    endpoint: first?.name ?? endpoint,
    splits: splits.filter((split) => first?.splits.includes(split) ?? true),
  };
}
