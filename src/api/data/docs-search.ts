/** Search of the documentation, and the pages of a near name. Pure: sections in, HTML out. */
import { isWithin, nearName } from '../../lib/near-name.js';

/** A page from one heading to the next, as plain text. */
export interface Section {
  /** With the anchor of the heading: `/docs/caching#days`. */
  readonly address: string;
  /** Title of the page. */
  readonly page: string;
  /** Empty for the beginning of a page. */
  readonly heading: string;
  readonly text: string;
}

const [MAX_LETTERS, MAX_WORDS, MAX_SHOWN] = [100, 8, 30];
/** What a section counts for a word in its page's title, its heading and its text. */
const [IN_PAGE, IN_HEADING, IN_TEXT] = [4, 3, 1];
const SNIPPET_LETTERS = 180;

function wordsOf(query: string): readonly string[] {
  const words = query.slice(0, MAX_LETTERS).toLowerCase().split(/\s+/);
  return [...new Set(words)].filter((word) => word !== '').slice(0, MAX_WORDS);
}

/** How well a section has all of the words; 0: it lacks one. */
function rate({ page, heading, text }: Section, words: readonly string[]): number {
  const places = [page, heading, text].map((place) => place.toLowerCase());
  const ratings = words.map((word) =>
    [IN_PAGE, IN_HEADING, IN_TEXT].reduce(
      (sum, weight, at) => sum + (places[at]?.includes(word) ? weight : 0),
      0,
    ),
  );
  return ratings.includes(0) ? 0 : ratings.reduce((sum, one) => sum + one, 0);
}

/** The sections that have all of the words, the best first; equally good ones in the order of the pages. */
export function writeFound(sections: readonly Section[], query: string): string {
  const words = wordsOf(query);
  if (words.length === 0) return '<p>Write one or more words into the field above.</p>';
  const found = sections
    .map((section) => ({ ...section, rating: rate(section, words) }))
    .filter(({ rating }) => rating > 0)
    .sort((a, b) => b.rating - a.rating);
  if (found.length === 0)
    return `<p>No section has all of these words. Try fewer or shorter ones, or see <a href="/docs">all pages</a>.</p>`;
  const more = found.length > MAX_SHOWN ? `; the best ${MAX_SHOWN} are shown` : '';
  const items = found.slice(0, MAX_SHOWN).map(
    ({ address, page, heading, text }) =>
      `<li><a href="${attribute(address)}">${escapeHtml(heading === '' ? page : `${page}: ${heading}`)}</a>
<p>${snippet(text, words)}</p></li>`,
  );
  const count = found.length === 1 ? '1 section' : `${found.length} sections`;
  return `<p role="status">${count} found${more}.</p><ol class="found">${items.join('\n')}</ol>`;
}

/** The text around the first word, with all words marked. */
function snippet(text: string, words: readonly string[]): string {
  const first = Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0));
  const from = first < SNIPPET_LETTERS / 2 ? 0 : text.indexOf(' ', first - SNIPPET_LETTERS / 3) + 1;
  const to = text.lastIndexOf(' ', from + SNIPPET_LETTERS);
  const isWhole = text.length <= from + SNIPPET_LETTERS;
  const cut = isWhole ? text.slice(from) : text.slice(from, to <= from ? from + SNIPPET_LETTERS : to);
  const any = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'gi');
  let [html, end] = ['', 0];
  for (const { 0: word, index } of cut.matchAll(any)) {
    html += `${escapeHtml(cut.slice(end, index))}<mark>${escapeHtml(word)}</mark>`;
    end = index + word.length;
  }
  return `${from > 0 ? '… ' : ''}${html}${escapeHtml(cut.slice(end))}${isWhole ? '' : ' …'}`;
}

/** Names up to here are too short to differ in two letters. */
const SHORT_LETTERS = 5;
const MAX_NEAR = 5;

/** @returns pages whose address ends or begins similarly, or whose title has the name */
export function pagesNear(path: string, sections: readonly Section[]): readonly Section[] {
  const name = nameOf(path).replace(/\.(md|html?)$/, '');
  if (name === '') return [];
  const pages = sections.filter(({ heading }) => heading === '');
  const isNear = ({ address, page }: Section) => {
    const known = nameOf(address);
    const edits = name.length > SHORT_LETTERS ? 2 : 1;
    const isBeginning =
      name.length >= 4 && known.length >= 4 && (known.startsWith(name.slice(0, 4)) || name.startsWith(known));
    return isBeginning || isWithin(name, known, edits) || page.toLowerCase().includes(name);
  };
  const best = nearName(
    name,
    pages.map(({ address }) => nameOf(address)),
  );
  return pages
    .filter(isNear)
    .sort((a, b) => Number(nameOf(b.address) === best) - Number(nameOf(a.address) === best))
    .slice(0, MAX_NEAR);
}

function nameOf(path: string): string {
  return path.toLowerCase().replace(/\/+$/, '').split('/').at(-1) ?? '';
}

export function writeNoPage(path: string, sections: readonly Section[]): string {
  const near = pagesNear(path, sections).map(
    ({ address, page }) => `<li><a href="${attribute(address)}">${escapeHtml(page)}</a></li>`,
  );
  const meant = near.length === 0 ? '' : `<p>Pages with a similar name:</p><ul>${near.join('')}</ul>`;
  return `<p>There is no page <code>${escapeHtml(path)}</code>.</p>${meant}<p>See <a href="/docs">the first page</a>, which leads to all others, or search by the field above.</p>`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function attribute(text: string): string {
  return escapeHtml(text).replaceAll('"', '&quot;');
}
