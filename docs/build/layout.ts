/** A page of the documentation: where one is, what there is, the text, and what is in it. No script. */
import { FIELD } from '../../src/api/data/docs-pages.js';
import { escapeHtml } from '../../src/api/data/docs-search.js';
import type { Heading } from './markdown.js';
import { STYLE } from './style.js';

export interface Place {
  readonly address: string;
  readonly title: string;
}

export interface Shelf {
  readonly title: string;
  readonly places: readonly Place[];
}

export interface ReaderPage {
  readonly address: string;
  readonly title: string;
  /** As HTML, without the title. */
  readonly html: string;
  readonly headings?: readonly Heading[];
  /** Of its pictures. */
  readonly style?: string;
}

/** @param words that the field of the search offers while somebody types: pages have no script */
export function readerPage(
  { address, title, html, headings = [], style = '' }: ReaderPage,
  shelves: readonly Shelf[],
  words: readonly string[],
): string {
  const shown = escapeHtml(title);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${shown} · dsp-gateway</title>
<link rel="icon" href="data:,">
<style>${STYLE}${style}</style>
</head><body>
<a class="skip" href="#text">To the text</a>
<header><a class="name" href="/docs">dsp-gateway</a><form role="search" action="/docs/search">${FIELD} maxlength="100" placeholder="Search" aria-label="Search the documentation" list="words"><datalist id="words">${words.map((one) => `<option>${escapeHtml(one)}`).join('')}</datalist></form><a class="pages" href="#pages">Pages</a><a href="/">Home</a><a href="/docs/api">API<span class="rest"> reference</span></a><a href="/docs/errors">Errors</a></header>
<div class="sheet">
<nav class="shelves" id="pages" aria-label="Pages">${shelves.map((shelf) => shelfOf(shelf, address)).join('\n')}</nav>
<main id="text"><h1>${shown}</h1>
${contentsOf(headings, 'above')}
${html}</main>
<aside>${contentsOf(headings, 'beside')}</aside>
</div>
</body></html>`;
}

function shelfOf({ title, places }: Shelf, here: string): string {
  const items = places.map(({ address, title: name }) => {
    const current = address === here ? ' aria-current="page"' : '';
    return `<li><a href="${address}"${current}>${escapeHtml(name)}</a></li>`;
  });
  return `<h2>${title}</h2><ul>${items.join('')}</ul>`;
}

/** On a narrow screen it opens above the text, on a wide one it stands beside it: one of the two is shown. */
function contentsOf(headings: readonly Heading[], where: 'above' | 'beside'): string {
  const shown = headings.filter(({ level }) => level <= 3);
  if (shown.length < 3) return '';
  const items = shown.map(
    ({ level, id, text }) => `<li class="of${level}"><a href="#${id}">${plain(text)}</a></li>`,
  );
  const list = `<ul>${items.join('')}</ul>`;
  return where === 'above'
    ? `<details class="contents"><summary>On this page</summary>${list}</details>`
    : `<nav class="contents" aria-label="On this page"><h2>On this page</h2>${list}</nav>`;
}

/** A link inside of a link is none. */
function plain(html: string): string {
  return html.replace(/<\/?a\b[^>]*>/g, '');
}
