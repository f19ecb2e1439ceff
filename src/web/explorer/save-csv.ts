/** Saves a CSV that the page made. */
import type { Meta } from './parse.js';
import type { Question } from './question.js';

/** Files of other filters have other names, of characters that each system takes. */
const SIGNS: Readonly<Record<string, string>> = { '>': ' gt ', '<': ' lt ', '=': ' eq ', '!': ' not ' };

/** Characters of each end. */
const MOST_END = 60;

const wordsOf = (text: string): string =>
  text
    .replace(/[<>=!]/g, (sign) => SIGNS[sign] ?? '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/-$/, '')
    .slice(0, MOST_END);

/** As the gateway names the file of one advertiser, `campaigns_1_2026-11-01_2026-11-07.csv`. @param more for the end of the name */
export function csvName(
  { endpoint }: Question,
  advertisers: readonly string[],
  period: Meta['period'],
  ...more: string[]
): string {
  const report = endpoint.replace(/\/get$/, '').replaceAll('/', '-');
  const ends = more.flatMap((end) => (end === '' ? [] : wordsOf(end)));
  return `${[report, advertisers.join('-'), period?.from ?? [], period?.to ?? [], ends].flat().join('_')}.csv`;
}

/** With a byte order mark, by which Excel recognizes UTF-8. */
export function saveCsv(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([`\ufeff${text}`], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
