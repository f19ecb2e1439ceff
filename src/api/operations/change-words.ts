/** What a change of the feed is, in words for people and assistants: those of the command line, of tools and of the pages. */
import type { ChangeKind } from '../../reports/feed/entry.js';

const WORDS: Readonly<Record<ChangeKind, string>> = {
  first: 'first seen',
  restated: 'corrected by the platform',
  final: 'final',
  reopened: 'no longer final',
  void: 'wrong, withdrawn',
  erased: 'erased',
};

/** The part of a message's headers that says what happened. */
interface Happened {
  readonly kind?: ChangeKind | undefined;
  readonly method?: true | undefined;
  readonly afterFinal?: true | undefined;
}

/** @returns e.g. `corrected by the platform, after it was final`; empty for a message without a kind */
export function whatHappened({ kind, method, afterFinal }: Happened): string {
  if (kind === undefined) return '';
  const words =
    method && kind === 'restated'
      ? 'fetched with another token or other columns'
      : // A newer gateway may have other kinds.
        (WORDS[kind] ?? kind);
  return afterFinal ? `${words}, after it was final` : words;
}
