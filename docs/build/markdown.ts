/** Markdown of the documentation as HTML, with its headings. Pure: text in, text out. */
import { Marked, type Token, type Tokens } from 'marked';
import { attribute, escapeHtml } from '../../src/api/data/docs-search.js';

export interface Heading {
  readonly level: number;
  readonly id: string;
  /** As HTML. */
  readonly text: string;
}

export interface Rendered {
  /** Without its first heading, which is the title. */
  readonly html: string;
  /** As plain text. */
  readonly title: string;
  readonly headings: readonly Heading[];
  /** Of its pictures. */
  readonly style: string;
}

/**
 * @param linkTo where a link of the page leads here; null for what is not served: its text stays
 * @param drawingOf a picture as SVG; null for any other: its words stay
 */
export function renderMarkdown(
  text: string,
  linkTo: (href: string) => string | null,
  drawingOf: (href: string) => string | null = () => null,
): Rendered {
  const headings: Heading[] = [];
  const ids = new Map<string, number>();
  const marked = new Marked({ gfm: true });
  let [title, style] = ['', ''];
  marked.use({
    renderer: {
      heading({ tokens, depth, text: source }) {
        const inner = this.parser.parseInline(tokens);
        if (depth === 1) {
          title ||= source.replaceAll('`', '');
          return '';
        }
        const id = uniqueId(ids, source);
        headings.push({ level: depth, id, text: inner });
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${inner}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const to = linkTo(href);
        return to === null ? inner : `<a href="${attribute(to)}">${inner}</a>`;
      },
      image({ href, text: instead }) {
        const drawing = drawingOf(href);
        if (drawing === null) return `<em>${escapeHtml(instead)}</em>`;
        // A page has one style, which its policy names by digest.
        return drawing.replace(/<style>([^<]*)<\/style>/, (_, own: string) => {
          style += own;
          return '';
        });
      },
      // Comments are for those who make the pages; anything else is shown as it was written.
      html: ({ text: raw }) => (raw.trimStart().startsWith('<!--') ? '' : escapeHtml(raw)),
      code: ({ text: code, lang }) =>
        `<pre tabindex="0"${lang ? ` data-lang="${escapeHtml(lang).replaceAll('"', '')}"` : ''}><code>${escapeHtml(code)}\n</code></pre>\n`,
      table(token) {
        return `<div class="table" tabindex="0">${table(token, (tokens) => this.parser.parseInline(tokens))}</div>\n`;
      },
    },
  });
  const html = marked.parse(text, { async: false });
  return { html, title, headings, style };
}

/** Tables without a head, which Markdown cannot write otherwise, have empty cells there: it is left out. */
function table({ header, rows }: Tokens.Table, inline: (tokens: Token[]) => string): string {
  const isNamed = header.some(({ text }) => text.trim() !== '');
  const isStacked = isNamed && isOfTexts(header, rows);
  const cell = (name: 'th' | 'td') => (one: Tokens.TableCell, at: number) => {
    const align = one.align === null ? '' : ` class="${one.align}"`;
    const title = attribute((header[at]?.text ?? '').replaceAll('`', ''));
    const named = isStacked && name === 'td' && at > 0 && title !== '' ? ` data-head="${title}"` : '';
    return `<${name}${align}${named}>${inline(one.tokens)}</${name}>`;
  };
  const head = isNamed ? `<thead><tr>${header.map(cell('th')).join('')}</tr></thead>` : '';
  const body = rows.map((row) => `<tr>${row.map(cell('td')).join('')}</tr>`).join('\n');
  return `<table${isStacked ? ' class="stacked"' : ''}>${head}<tbody>${body}</tbody></table>`;
}

/** Three to five columns, three of them of words, do not fit on a phone side by side: there they stand below each other. */
function isOfTexts(
  header: readonly Tokens.TableCell[],
  rows: readonly (readonly Tokens.TableCell[])[],
): boolean {
  const ofWords = header.filter(({ align }) => align === null).length;
  return ofWords > 2 && header.length < 6 && rows.some((row) => row.some(({ text }) => text.length > 60));
}

/** As GitHub makes them, so that the same links work there. */
function uniqueId(ids: Map<string, number>, heading: string): string {
  const plain = heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
  const before = ids.get(plain) ?? 0;
  ids.set(plain, before + 1);
  return before === 0 ? plain : `${plain}-${before}`;
}
