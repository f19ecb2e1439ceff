/** What must hold of the bytes that came back, and of what the platform was asked meanwhile. Pure. */

export interface SeenCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** The report that may be asked for by POST, in a body or beside an empty one. */
const READ_BY_POST = '/api/v1/report/campaigns/get';

/** 501: what Node's parser takes for a method or coding that it does not know; 505 for a version. */
const FORESEEN: ReadonlySet<number> = new Set([
  ...[
    200, 204, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 411, 413, 414, 415, 417, 421, 426,
  ],
  ...[429, 431, 501, 502, 503, 504, 505],
]);
/** Headers of callers that are not the platform's business. */
const WITHHELD = [
  'x-api-key',
  'x-forwarded-for',
  'x-forwarded-host',
  'forwarded',
  'cookie',
  'upgrade',
  'range',
];

/** Of each answer of a connection: they follow one another without a line between. */
const HEADS = /(?:^|\n|\}|>)HTTP\/1\.1 (\d{3}) .*?\r\n\r\n/gs;

/** @param bytes each as a letter; none: the connection was closed without a word */
export function wrongBytes(bytes: string, secrets: readonly string[]): string | null {
  if (secrets.some((secret) => bytes.includes(secret)))
    return `was answered with a secret: ${bytes.slice(0, 300)}`;
  if (bytes === '') return null;
  if (!bytes.startsWith('HTTP/1.1 ')) return `was answered ${JSON.stringify(bytes.slice(0, 200))}`;
  for (const [head, status] of bytes.matchAll(HEADS)) {
    if (!FORESEEN.has(Number(status)) && status !== '100')
      return `was answered ${status}: ${bytes.slice(0, 300)}`;
    if (Number(status) >= 400 && !/\ncontent-type: application\/problem\+json/i.test(head))
      return `was answered ${status} by no problem: ${head}`;
  }
  return null;
}

/** The team may read reports of advertiser 1 alone: nothing else reaches the platform, whatever was sent. */
export function wrongCalls(calls: readonly SeenCall[], token: string): string | null {
  for (const { method, url, headers, body } of calls) {
    const { pathname, searchParams } = new URL(url, 'http://platform.test');
    const call = `the platform was asked ${method} ${url} ${body}`;
    if (method === 'POST' ? pathname !== READ_BY_POST : method !== 'GET') return call;
    if (!pathname.startsWith('/api/v1/report/')) return call;
    const { advertiserId = [] } = method === 'POST' ? (JSON.parse(body) as { advertiserId?: unknown }) : {};
    const of = [...searchParams.getAll('advertiserId'), advertiserId].flat().map(String);
    if (of.length === 0 || (method === 'GET' && of.length > 1) || of.some((one) => one !== '1')) return call;
    if (headers.authorization !== `Bearer ${token}`) return `${call} by ${String(headers.authorization)}`;
    const passed = WITHHELD.filter((name) => headers[name] !== undefined);
    if (passed.length > 0) return `${call} with ${passed.join(', ')}`;
  }
  return null;
}
