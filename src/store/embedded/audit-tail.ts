import type { AuditLine } from '../port.js';

/** The newest audit lines, numbered without gaps; a line's id is its number. */
export interface AuditTail {
  /** The number of the oldest line kept. */
  readonly from: number;
  /** All lines kept, oldest first. */
  lines(): readonly string[];
  add(lines: readonly string[]): void;
  /** Newest first. */
  read(limit: number, before?: string): AuditLine[];
}

export function createAuditTail(first: number, max: number): AuditTail {
  let from = first;
  let kept: string[] = [];

  /** In strides, so that the lines are not moved each time; readers are shown `max` at most. */
  function trim(): void {
    if (kept.length < 2 * max) return;
    from += kept.length - max;
    kept = kept.slice(kept.length - max);
  }

  return {
    get from() {
      return from;
    },
    lines: () => kept,
    add(lines) {
      for (const line of lines) kept.push(line);
      trim();
    },
    read(limit, before) {
      if (before !== undefined && !/^\d{1,15}$/.test(before)) return [];
      const next = from + kept.length;
      const end = before === undefined ? next : Math.min(next, Number(before));
      const oldest = Math.max(next - max, from);
      const lines: AuditLine[] = [];
      for (let number = end - 1; number >= oldest && lines.length < limit; number -= 1) {
        lines.push({ id: String(number), text: kept[number - from] ?? '' });
      }
      return lines;
    },
  };
}
