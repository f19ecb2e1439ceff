/** A report as people pass it on: an address that was copied from an app, a log or a page, or its query alone. Pure. */

export interface AddressedReport {
  /** Null where the text does not say it. */
  readonly endpoint: string | null;
  /** URL-encoded, without `?`. */
  readonly query: string;
}

/** Calls of either plane that name a report by `endpoint` and `query`. */
const NAMES_A_REPORT =
  /\/(?:gateway\/v1\/(?:revisions|diff|finality|truth|explain)|admin\/v1\/cache\/explain)$/;

/**
 * Of whatever host: one gateway has many names. Nothing is asked for.
 * @returns null for the address of something else
 */
export function readReportAddress(text: string): AddressedReport | null {
  const [address = '', ...rest] = text.replace(/#.*$/s, '').split('?');
  if (rest.length === 0 && !/^(https?:\/)?\//i.test(text)) return { endpoint: null, query: text };
  const query = rest.join('?');
  const endpoint = /\/api\/v1\/report\/(.+)$/.exec(address)?.[1];
  if (endpoint !== undefined) return { endpoint, query };
  if (NAMES_A_REPORT.test(address)) {
    const named = new URLSearchParams(query);
    return named.has('endpoint')
      ? { endpoint: named.get('endpoint'), query: named.get('query') ?? '' }
      : null;
  }
  // Else the address of something else would be read as that of a report that is not named.
  return /\/./.test(address.replace(/^https?:\/\/[^/]*/i, '')) ? null : { endpoint: null, query };
}
