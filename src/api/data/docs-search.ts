/** Search of the documentation. Pure: sections in, HTML out. */
import MiniSearch, { type Query } from 'minisearch';
import { stemmer } from 'stemmer';
import { nearName } from '../../lib/near-name.js';

/** A page from one heading to the next, as plain text. */
export interface Section {
  /** With the anchor of the heading: `/docs/caching#days`. */
  readonly address: string;
  /** Title of the page. */
  readonly page: string;
  /** Empty for the beginning of a page. */
  readonly heading: string;
  readonly text: string;
  /** What the text writes as code, without examples. */
  readonly code: string;
}

const [MAX_LETTERS, MAX_WORDS, MAX_SHOWN] = [100, 12, 30];
const SNIPPET_LETTERS = 180;
/** Shorter words are not taken for the beginning of others. */
const LEAST_LETTERS = 3;

/** Words that questions have whatever they are about; `data` is on nearly every page. */
const SMALL = new Set(
  `a about an and any are as at be been by can could data do does for from get gets had has have how i if in into is it its know
  may me much must my no not of on or our so than that the their them then there these they this to us was we what when where
  which who why will with would you your`.split(/\s+/),
);
/** What readers call things that the pages name otherwise. */
const SYNONYMS: Readonly<Record<string, string>> = {
  webhook: 'follow changes',
  feed: 'follow changes',
  excel: 'csv',
  umlaut: 'byte order mark',
  throttled: 'rate_limited',
  pagination: 'paging',
  paginate: 'paging',
  authentication: 'x-api-key',
};
/** The section that comes first for words that no heading has, or another section has oftener. */
export const ANSWERS: Readonly<Record<string, string>> = {
  'getting started': '/docs/first-steps',
  quickstart: '/docs/first-steps',
  'quick start': '/docs/first-steps',
  'lost key': '/docs/operations#teams-and-keys',
  rotate: '/docs/operations#rotation',
  'rotate token': '/docs/operations#rotation',
  'rotate key': '/docs/operations#teams-and-keys',
  timezone: '/docs/caching#how-long',
  'time zone': '/docs/caching#how-long',
  'rate limit': '/docs/limits',
  quota: '/docs/limits',
  'how many requests': '/docs/limits',
  retry: '/docs/first-steps#errors',
  idempotent: '/docs/first-steps#everything-else',
  sso: '/docs/sign-in',
  login: '/docs/sign-in',
  excel: '/docs/clients#excel',
  price: '/docs/costs#what-it-costs',
  gdpr: '/docs/stored#personal-data',
  'personal data': '/docs/stored#personal-data',
  'data residency': '/docs/stored#personal-data',
  totals: '/docs/first-steps#the-first-report',
  _totals: '/docs/first-steps#the-first-report',
  'first call': '/docs/first-steps#the-first-report',
  'first request': '/docs/first-steps#the-first-report',
  'platform down': '/docs/first-steps#when-the-platform-does-not-answer',
  outage: '/docs/first-steps#when-the-platform-does-not-answer',
  reach: '/docs/first-steps#how-fresh-is-it',
  'report-revision': '/docs/first-steps#headers',
  authentication: '/docs/first-steps#what-may-i-do',
  'retry-after': '/docs/first-steps#errors',
  docker: '/docs/compose',
  license: '/docs/licences',
  owner: '/docs/decide#who-maintains-it',
  'bus factor': '/docs/decide#who-maintains-it',
  pii: '/docs/stored#personal-data',
  dpa: '/docs/stored#personal-data',
  'data retention': '/docs/stored#reports',
  certification: '/docs/security#for-a-decision',
  roi: '/docs/costs#when-it-pays',
  staff: '/docs/costs#what-it-costs',
  headcount: '/docs/costs#what-it-costs',
  platforms: '/docs/decide#which-platforms',
  'supported platforms': '/docs/decide#which-platforms',
  availability: '/docs/outages',
  'high availability': '/docs/outages',
  downtime: '/docs/outages',
  uptime: '/docs/outages',
  'on-call': '/docs/costs#what-it-costs',
  oncall: '/docs/costs#what-it-costs',
  pentest: '/docs/security#pen-test-and-outside-review',
  alternatives: '/docs/decide#a-nightly-load-instead',
  'exit strategy': '/docs/decide#to-leave-it',
  exit: '/docs/decide#to-leave-it',
  'lock-in': '/docs/decide#to-leave-it',
  'upgrade path': '/docs/upgrade',
  rollback: '/docs/upgrade#go-back',
};
/** Pages for those who write apps come before equally good ones, those for who changes the gateway after them. */
const FOR_APPS = ['first-steps', 'clients', 'errors', 'limits', 'caching', 'changes', 'final', 'history'];
const FOR_MAKERS = ['agents', 'architecture', 'adr', 'changelog', 'hardening', 'proven', 'standards'];
const WEIGHTS = { apps: 1.5, others: 1, makers: 0.4 };
const BOOST = { heading: 4, page: 2, code: 2, text: 1 };

const plainTokens = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Words, and names such as `retry-after` also as a whole. */
function tokensOf(text: string): string[] {
  const names = text.toLowerCase().match(/[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+)*/gu) ?? [];
  return names.flatMap((name) => (/[-_]/.test(name) ? [name, ...plainTokens(name)] : [name]));
}

function wordsOf(query: string): readonly string[] {
  const words = query.slice(0, MAX_LETTERS).toLowerCase().split(/\s+/);
  const all = [...new Set(words)].filter((word) => tokensOf(word).length > 0).slice(0, MAX_WORDS);
  const telling = all.filter((word) => !SMALL.has(word));
  return telling.length > 0 ? telling : all;
}

/** Equal for the same words in another order or form: `key lost`, `lost keys`. */
function formOf(words: readonly string[]): string {
  return words.map(stemmer).sort().join(' ');
}

const FIRST = new Map(
  Object.entries(ANSWERS).map(([words, address]) => [formOf(wordsOf(words)), address] as const),
);

function weightOf(address: string): number {
  const page = /^\/docs\/([\w-]*)/.exec(address)?.[1] ?? '';
  if (FOR_APPS.includes(page)) return WEIGHTS.apps;
  return FOR_MAKERS.includes(page) || address.endsWith('#admin-plane') ? WEIGHTS.makers : WEIGHTS.others;
}

/** A word, or its synonym: all parts of it, and better the whole name. */
function queryOf(word: string): Query {
  const synonym = Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word] ?? '') : '';
  const texts = synonym === '' ? [word] : [word, synonym];
  const queries = texts.flatMap((text) => [
    { combineWith: 'AND' as const, queries: plainTokens(text) },
    ...tokensOf(text).filter((token) => /[-_]/.test(token)),
  ]);
  return { combineWith: 'OR', queries };
}

/** @returns the search in these sections, as HTML; they are indexed in short steps, so that other requests go on */
export async function createSearch(sections: readonly Section[]): Promise<(query: string) => string> {
  const index = new MiniSearch<Section & { readonly id: number }>({
    fields: Object.keys(BOOST),
    tokenize: tokensOf,
    processTerm: stemmer,
    searchOptions: {
      tokenize: (token) => [token],
      boost: BOOST,
      weights: { prefix: 0.2, fuzzy: 0 },
      boostDocument: (id: number) => weightOf((sections[id] as Section).address),
      prefix: (token) => token.length >= LEAST_LETTERS,
    },
  });
  const documents = sections.map((one, id) => ({ ...one, id, heading: one.heading || one.page }));
  await index.addAllAsync(documents, { chunkSize: 2 });
  const search = (words: readonly string[], combineWith: 'AND' | 'OR') =>
    index.search({ combineWith, queries: words.map(queryOf) });
  const spell = createSpelling(sections);

  return (query) => {
    const words = wordsOf(query);
    if (words.length === 0) return '<p>Write one or more words into the field above.</p>';
    const first = sections.find(({ address }) => address === FIRST.get(formOf(words)));
    const missing = first ? [] : words.filter((word) => search([word], 'OR').length === 0);
    const meant = new Map(missing.map((word) => [word, spell(word)]));
    const known = words.flatMap((word) => (missing.includes(word) ? (meant.get(word) ?? []) : [word]));
    const withAll = search(known, 'AND');
    const results = withAll.length > 0 ? withAll : search(known, 'OR');
    const rated = results.map(({ id, terms }) => ({ ...(sections[id] as Section), terms }));
    const found = first
      ? [{ ...first, terms: known.map(stemmer) }, ...rated.filter(({ address }) => address !== first.address)]
      : rated;
    const said = missing.map((word) => sayMissing(query, word, meant.get(word)));
    const hasAll = first !== undefined || withAll.length > 0 || known.length === 0;
    return [...said, writeList(found, hasAll)].join('\n');
  };
}

/** @returns what tells the word that was probably meant, the most frequent of the nearest */
function createSpelling(sections: readonly Section[]): (word: string) => string | undefined {
  let known: readonly string[] | null = null;
  const count = () => {
    const all = new Map<string, number>(Object.keys(SYNONYMS).map((word) => [word, 1]));
    for (const { page, heading, text } of sections)
      for (const word of plainTokens(`${page} ${heading} ${text}`)) all.set(word, (all.get(word) ?? 0) + 1);
    return [...all].sort(([, a], [, b]) => b - a).map(([word]) => word);
  };
  return (word) => {
    known ??= count();
    return nearName(word, known);
  };
}

function sayMissing(query: string, word: string, meant: string | undefined): string {
  const said = `No section has <q>${escapeHtml(word)}</q>`;
  if (meant === undefined) return `<p>${said}.</p>`;
  const corrected = query
    .toLowerCase()
    .split(/\s+/)
    .map((one) => (one === word ? meant : one));
  const address = `/docs/search?q=${encodeURIComponent(corrected.join(' ').trim())}`;
  return `<p>${said}: did you mean <a href="${attribute(address)}">${escapeHtml(meant)}</a>?</p>`;
}

interface Found extends Section {
  /** What was found of the words: the stems. */
  readonly terms: readonly string[];
}

function writeList(found: readonly Found[], hasAll: boolean): string {
  if (found.length === 0) return '<p>Try other words, or see <a href="/docs">all pages</a>.</p>';
  const more = found.length > MAX_SHOWN ? `; the best ${MAX_SHOWN} are shown` : '';
  const items = found.slice(0, MAX_SHOWN).map(
    ({ address, page, heading, text, terms }) =>
      `<li><a href="${attribute(address)}">${escapeHtml(heading === '' ? page : `${page}: ${heading}`)}</a>
<p>${snippet(text, terms)}</p></li>`,
  );
  const count = found.length === 1 ? '1 section' : `${found.length} sections`;
  const said = hasAll ? `${count} found` : `No section has all of these words; ${count} found with some`;
  return `<p role="status">${said}${more}.</p><ol class="found">${items.join('\n')}</ol>`;
}

/** The text around the first word that was found, with all of them marked. */
function snippet(text: string, terms: readonly string[]): string {
  const hits = [...text.matchAll(/[\p{L}\p{N}]+/gu)].filter(([word]) => terms.includes(stemmer(word)));
  const first = hits[0]?.index ?? 0;
  const from = first < SNIPPET_LETTERS / 2 ? 0 : text.indexOf(' ', first - SNIPPET_LETTERS / 3) + 1;
  const to = text.lastIndexOf(' ', from + SNIPPET_LETTERS);
  const isWhole = text.length <= from + SNIPPET_LETTERS;
  const until = isWhole ? text.length : to <= from ? from + SNIPPET_LETTERS : to;
  let [html, end] = ['', from];
  for (const { 0: word, index } of hits) {
    if (index < from || index + word.length > until) continue;
    html += `${escapeHtml(text.slice(end, index))}<mark>${escapeHtml(word)}</mark>`;
    end = index + word.length;
  }
  return `${from > 0 ? '… ' : ''}${html}${escapeHtml(text.slice(end, until))}${isWhole ? '' : ' …'}`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function attribute(text: string): string {
  return escapeHtml(text).replaceAll('"', '&quot;');
}
