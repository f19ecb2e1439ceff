/** The sections of a page, for the search. Pure: HTML in, text out. */
import type { Section } from '../../src/api/data/docs-search.js';

const HEADING = /<h[2-6] id="([^"]+)">(.*?)<\/h[2-6]>/gs;

/** @param html of the page, without its title */
export function sectionsOf(address: string, page: string, html: string): readonly Section[] {
  const headings = [...html.matchAll(HEADING)];
  const ends = [...headings.map(({ index }) => index), html.length];
  return [
    { address, page, heading: '', ...textsOf(html.slice(0, ends[0])) },
    ...headings.map(({ 0: whole, 1: id, 2: heading = '', index }, at) => ({
      address: `${address}#${id}`,
      page,
      heading: plain(heading),
      ...textsOf(html.slice(index + whole.length, ends[at + 1])),
    })),
  ];
}

function textsOf(html: string): Pick<Section, 'text' | 'code'> {
  const prose = html.replace(/<pre\b.*?<\/pre>/gs, '');
  const code = [...prose.matchAll(/<code>(.*?)<\/code>/gs)].map(([, inner = '']) => plain(inner));
  return { text: plain(html), code: [...new Set(code)].join('\n') };
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

function plain(html: string): string {
  return html
    .replace(/<\/?(code|a|em|strong|span|tspan)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => ENTITIES[name] as string)
    .replace(/\s+/g, ' ')
    .trim();
}
