/** What the gateway says of one report, and how people name one. Pure. */
import type { AnswerTo } from '../../../api/operations/table.js';

export type Explained = AnswerTo<'GET /admin/v1/cache/explain'>;

/**
 * The question to the gateway.
 * @param text an address or a path with its query, or an endpoint with its query: `campaigns/get?advertiserId=1`
 */
export function questionOf(text: string): string {
  const at = text.indexOf('?');
  const isAddress = /^(https?:\/)?\//i.test(text);
  const named =
    isAddress || at < 0 ? { url: text } : { endpoint: text.slice(0, at), query: text.slice(at + 1) };
  return new URLSearchParams(named).toString();
}

/** The advertiser that a report is about, where it names one alone. */
export function advertiserOf({ canonical }: Explained): string {
  const query = new URLSearchParams(canonical.target.split('?')[1] ?? '');
  const [id = '', another] = query.getAll('advertiserId');
  return another === undefined && /^\d+$/.test(id) ? id : '';
}
