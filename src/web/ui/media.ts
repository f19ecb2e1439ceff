/** Media queries of the style sheet, for what only a script can do. */
import { useEffect, useState } from 'preact/hooks';

export const DARK = '(prefers-color-scheme: dark)';
/** A phone. */
export const NARROW = '(max-width: 52rem)';

/** @returns whether the query matches now */
export function useMedia(media: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(media).matches);
  useEffect(() => {
    const query = matchMedia(media);
    const changed = () => setMatches(query.matches);
    query.addEventListener('change', changed);
    // It may have changed since it was rendered.
    changed();
    return () => query.removeEventListener('change', changed);
  }, [media]);
  return matches;
}
