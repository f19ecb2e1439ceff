/** Names of the parent account's children, where rows carry them. */

const PLACES = ['Alpine', 'Baltic', 'Coastal', 'Danube', 'Evergreen', 'Fjord', 'Granite', 'Harbour'];
const TRADES = ['Outdoor', 'Coffee', 'Mobility', 'Insurance', 'Games'];
/** What a careless page, table or spreadsheet trips over. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '=HYPERLINK("https://example.test","x")',
  '\u202eesrever ni eman A',
  'Überlang '.repeat(22).trim(),
  'שלום & "co"',
  "'; drop table teams; --",
];

/** @param id of the advertiser, from 1 */
export function advertiserName(id: number, kind: 'plain' | 'hostile'): string {
  if (kind === 'hostile') return HOSTILE[(id - 1) % HOSTILE.length] as string;
  const place = PLACES[(id - 1) % PLACES.length] as string;
  return `${place} ${TRADES[Math.floor((id - 1) / PLACES.length) % TRADES.length]}`;
}
