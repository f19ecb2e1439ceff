/** What is learned together: reports of one endpoint and split, of one advertiser. */
import type { Report } from '../query/canonicalize.js';
import { digest } from '../query/platform-call.js';

export interface Scope {
  readonly endpoint: string;
  /** As `date+campaign`. */
  readonly split: string;
  /** Null: of reports that name none. */
  readonly account: string | null;
}

export function scopeOf({ endpoint, split, account }: Report): Scope {
  return { endpoint, split: split.join('+'), account };
}

/** Short, and without any sign that a store would read. */
export function scopeId({ endpoint, split, account }: Scope): string {
  return digest([endpoint, split, account === null ? '' : `=${account}`]).slice(0, 22);
}

/** Scopes that are written down, and then those that only this process knows yet, each once. */
export function scopesWith(written: readonly Scope[], unwritten: readonly Scope[]): Scope[] {
  const byId = new Map<string, Scope>();
  for (const { endpoint, split, account } of [...written, ...unwritten]) {
    const scope = { endpoint, split, account };
    byId.set(scopeId(scope), scope);
  }
  return [...byId.values()];
}
