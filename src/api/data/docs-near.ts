/** What a reader sees at an address of the documentation that has no page: the pages of a similar name. Pure. */
import { nearName } from '../../lib/near-name.js';
import { attribute, escapeHtml, type Section } from './docs-search.js';

const MAX_NEAR = 5;

/** @returns pages whose address ends or begins similarly, or whose title has the name */
export function pagesNear(path: string, sections: readonly Section[]): readonly Section[] {
  const name = nameOf(path).replace(/\.(md|html?)$/, '');
  if (name === '') return [];
  const pages = sections.filter(({ heading }) => heading === '');
  const isNear = ({ address, page }: Section) => {
    const known = nameOf(address);
    const isBeginning =
      name.length >= 4 && known.length >= 4 && (known.startsWith(name.slice(0, 4)) || name.startsWith(known));
    return (
      isBeginning ||
      known === name ||
      nearName(name, [known]) !== undefined ||
      page.toLowerCase().includes(name)
    );
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
