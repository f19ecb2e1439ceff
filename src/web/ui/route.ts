/** The state of the page in its address, `#/teams/growth?tab=keys`; after the `#` no server logs it. */
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  /** `['teams', 'growth']` */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** @param hash `location.hash`; any other text is the start page */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.startsWith('#/') ? splitOnce(hash.slice(2), '?') : [''];
  const parts = path.split('/').filter((part) => part !== '');
  return { path: parts.map(decoded), query: new URLSearchParams(query) };
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param query empty members are omitted, a list is repeated */
export function hrefOf(
  path: readonly string[],
  query: Readonly<Record<string, string | readonly string[]>> = {},
): string {
  const given = Object.entries(query)
    .flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
    .filter(([, value]) => value !== '');
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** @param replace adds no entry to the browser's history */
export function go(href: string, replace = false): void {
  if (href === location.hash) return;
  if (replace) {
    history.replaceState(null, '', href);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  } else location.hash = href;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  return parseRoute(hash);
}
