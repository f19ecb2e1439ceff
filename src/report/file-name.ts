/** How a report is called where it is saved as a file. */
import type { CanonicalReport } from './canonicalize.js';

/** Longer names are refused by some file systems, with what a browser puts behind them. */
const MOST_CHARS = 150;

/**
 * @param extension e.g. `csv`
 * @returns e.g. `campaigns_1_2026-11-01_2026-11-07.csv`, of letters, digits, dots, hyphens and underscores alone, so
 *   that it needs no quoting in a header (RFC 6266, section 4.3)
 */
export function fileNameOf({ endpoint, account, from, to }: CanonicalReport, extension: string): string {
  const words = [endpoint.replace(/\/get$/, ''), account, from.iso, to.iso]
    .filter((word) => word !== null)
    .map((word) => word.replace(/[^A-Za-z0-9.-]+/g, '-').replace(/^[.-]+|-+$/g, ''))
    .filter((word) => word !== '');
  return `${words.join('_').slice(0, MOST_CHARS) || 'report'}.${extension}`;
}
