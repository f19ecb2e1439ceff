/** The explanation of a report, and the forms in which a report is named. Pure. */
import type { AnswerTo } from '../../../api/operations/table.js';

export type Explained = AnswerTo<'GET /admin/v1/cache/explain'>;

/** @param text a URL, a path or an endpoint, each with its query: `campaigns/get?advertiserId=1` */
export function questionOf(text: string): string {
  const at = text.indexOf('?');
  const isAddress = /^(https?:\/)?\//i.test(text);
  const named =
    isAddress || at < 0 ? { url: text } : { endpoint: text.slice(0, at), query: text.slice(at + 1) };
  return new URLSearchParams(named).toString();
}

/** @returns the only advertiser that a report names, or an empty text */
export function advertiserOf({ canonical }: Explained): string {
  const query = new URLSearchParams(canonical.target.split('?')[1] ?? '');
  const [id = '', another] = query.getAll('advertiserId');
  return another === undefined && /^\d+$/.test(id) ? id : '';
}
