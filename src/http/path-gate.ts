/**
 * The one gate before all routing: a path has one spelling, or it is refused. Beside a wildcard proxy every other
 * spelling (`/Report/x`, `/report//x`, `%2e%2e`) would miss the guarded route and reach the platform with its token.
 */

export type GateFault = 'invalid_path' | 'uri_too_long';

export interface GateRules {
  readonly maxUriBytes: number;
  /** Further characters allowed below a path prefix: pass-through routes may declare them. */
  readonly wider: readonly { readonly path: RegExp }[];
}

const PLAIN = /^(\/[A-Za-z0-9._~-]+)*\/?$/;

/** @returns why a request target (path and query, as received) is refused, or null */
export function gateFault(target: string, rules: GateRules): GateFault | null {
  if (target.length > rules.maxUriBytes) return 'uri_too_long';
  const cut = target.indexOf('?');
  const path = cut < 0 ? target : target.slice(0, cut);
  if (!path.startsWith('/') || target.includes('#')) return 'invalid_path';
  const lower = path.toLowerCase();
  const api = lower === '/api' || lower.startsWith('/api/');
  if (!PLAIN.test(path) && !rules.wider.some((wide) => wide.path.test(path))) return 'invalid_path';
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) return 'invalid_path';
  if (!api) return null;
  if (path.endsWith('/') || !path.startsWith('/api')) return 'invalid_path';
  const report = lower === '/api/v1/report' || lower.startsWith('/api/v1/report/');
  const version = lower.startsWith('/api/v1');
  if (version && !path.startsWith('/api/v1')) return 'invalid_path';
  return report && !path.startsWith('/api/v1/report') ? 'invalid_path' : null;
}

/**
 * The paths of a pass-through route whose segments may hold further characters.
 * @param path e.g. `/api/v1/files/*`; a last segment `*` stands for one segment
 * @param chars e.g. `@:`; percent signs, slashes and backslashes are never allowed
 */
export function widerPath(path: string, chars: string): { readonly path: RegExp } {
  const safe = [...chars]
    .filter((char) => !/[%/\\?#\s]/.test(char))
    .map((char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
  const segment = `[A-Za-z0-9._~\\-${safe.join('')}]+`;
  const pattern = path
    .split('/')
    .map((part) => (part === '*' ? segment : part.replace(/[.~-]/g, '\\$&')))
    .join('/');
  return { path: new RegExp(`^${pattern}$`, 'u') };
}
