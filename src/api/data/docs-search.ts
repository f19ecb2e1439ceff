/** Search of the documentation. Pure: sections in, HTML out. */

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

const [MAX_LETTERS, MAX_WORDS, MAX_SHOWN] = [100, 8, 30];
/** What a section counts for a word, by its best place: in heading or code, in the page's title, inside of them, in the text. */
const [AS_NAME, IN_PAGE, IN_NAME, IN_TEXT] = [4, 3, 2, 1];
const SNIPPET_LETTERS = 180;

/** What readers call things that the pages name otherwise. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  webhook: ['follow changes'],
  excel: ['csv'],
  umlaut: ['byte order mark'],
  throttled: ['rate_limited'],
};
/** The section that comes first for words that no heading has, or another section has oftener. */
const ANSWERS: Readonly<Record<string, string>> = {
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
  sso: '/docs/sign-in',
  login: '/docs/sign-in',
  excel: '/docs/clients#excel',
  price: '/docs/decide#what-it-costs',
  gdpr: '/docs/stored#personal-data',
  docker: '/docs/compose',
};
/** The pages that come first and last of equally good ones. */
const FIRST = ['first-steps', 'clients', 'errors', 'limits', 'caching'];
const LAST = ['agents', 'architecture', 'adr', 'changelog'];

interface Word {
  /** It and its synonyms. */
  readonly texts: readonly string[];
  /** Any of them, not inside of another word. */
  readonly whole: RegExp;
}

function wordsOf(query: string): readonly Word[] {
  const words = query.slice(0, MAX_LETTERS).toLowerCase().split(/\s+/);
  return [...new Set(words)]
    .filter((word) => word !== '')
    .slice(0, MAX_WORDS)
    .map((word) => {
      const texts = [word, ...(Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word] ?? []) : [])];
      return { texts, whole: new RegExp(`(?<![a-z0-9])(${anyOf(texts)})s?(?![a-z0-9])`) };
    });
}

function anyOf(texts: readonly string[]): string {
  return texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
}

/** @returns the sections that have most of the words, the best first, and how many words that are */
function searchSections(sections: readonly Section[], words: readonly Word[]) {
  const rated = sections.map((section) => ({ section, ratings: words.map((word) => rate(section, word)) }));
  const counted = rated.map((one) => ({ ...one, has: one.ratings.filter((rating) => rating > 0).length }));
  const most = counted.reduce((max, { has }) => Math.max(max, has), 0);
  const sum = (ratings: readonly number[]) => ratings.reduce((all, one) => all + one, 0);
  const found = counted
    .filter(({ has }) => has > 0 && has === most)
    .sort((a, b) => sum(b.ratings) - sum(a.ratings) || rankOf(a.section) - rankOf(b.section));
  return { found: found.map(({ section }) => section), most };
}

function rankOf({ address }: Section): number {
  const page = /^\/docs\/([\w-]*)/.exec(address)?.[1] ?? '';
  return FIRST.includes(page) ? FIRST.indexOf(page) : FIRST.length + 1 + LAST.indexOf(page);
}

function rate({ page, heading, code, text }: Section, { texts, whole }: Word): number {
  const name = `${heading || page}\n${code}`.toLowerCase();
  const isIn = (place: string) => texts.some((one) => place.toLowerCase().includes(one));
  if (whole.test(name)) return AS_NAME;
  if (whole.test(page.toLowerCase())) return IN_PAGE;
  if (isIn(name) || isIn(page)) return IN_NAME;
  return isIn(text) ? IN_TEXT : 0;
}

export function writeFound(sections: readonly Section[], query: string): string {
  const words = wordsOf(query);
  if (words.length === 0) return '<p>Write one or more words into the field above.</p>';
  const { found: rated, most } = searchSections(sections, words);
  const asked = query.trim().toLowerCase().replace(/\s+/g, ' ');
  const answers = sections.filter(
    ({ address }) => Object.hasOwn(ANSWERS, asked) && address === ANSWERS[asked],
  );
  const found = [...answers, ...rated.filter((one) => !answers.includes(one))];
  if (found.length === 0)
    return '<p>No section has any of these words. Try other ones, or see <a href="/docs">all pages</a>.</p>';
  const more = found.length > MAX_SHOWN ? `; the best ${MAX_SHOWN} are shown` : '';
  const items = found.slice(0, MAX_SHOWN).map(
    ({ address, page, heading, text }) =>
      `<li><a href="${attribute(address)}">${escapeHtml(heading === '' ? page : `${page}: ${heading}`)}</a>
<p>${snippet(
        text,
        words.flatMap(({ texts }) => texts),
      )}</p></li>`,
  );
  const count = found.length === 1 ? '1 section' : `${found.length} sections`;
  const said =
    most === words.length || answers.length > 0
      ? `${count} found`
      : `No section has all of these words; ${count} found with ${most} of ${words.length}`;
  return `<p role="status">${said}${more}.</p><ol class="found">${items.join('\n')}</ol>`;
}

/** The text around the first word, with all words marked. */
function snippet(text: string, words: readonly string[]): string {
  const first = Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0));
  const from = first < SNIPPET_LETTERS / 2 ? 0 : text.indexOf(' ', first - SNIPPET_LETTERS / 3) + 1;
  const to = text.lastIndexOf(' ', from + SNIPPET_LETTERS);
  const isWhole = text.length <= from + SNIPPET_LETTERS;
  const cut = isWhole ? text.slice(from) : text.slice(from, to <= from ? from + SNIPPET_LETTERS : to);
  const any = new RegExp(anyOf(words), 'gi');
  let [html, end] = ['', 0];
  for (const { 0: word, index } of cut.matchAll(any)) {
    html += `${escapeHtml(cut.slice(end, index))}<mark>${escapeHtml(word)}</mark>`;
    end = index + word.length;
  }
  return `${from > 0 ? '… ' : ''}${html}${escapeHtml(cut.slice(end))}${isWhole ? '' : ' …'}`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function attribute(text: string): string {
  return escapeHtml(text).replaceAll('"', '&quot;');
}
