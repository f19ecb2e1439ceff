/** `GET /admin/v1/audit`: sought by text and by who did it, page by page. */
import { expect, it } from 'vitest';
import { ADMIN_TOKEN, withGateway } from '../../support/start-gateway.js';

interface Page {
  readonly entries: readonly { readonly id: string; readonly subject: string }[];
  readonly next: string | null;
}

async function scene() {
  const gateway = await withGateway();
  for (const id of ['one', 'two', 'three'])
    await gateway.manage('POST', '/teams', { id, name: `Team ${id === 'two' ? 'ÉTOILE <b>' : id}` });
  const page = async (query: string) => (await gateway.manage('GET', `/audit?${query}`)) as unknown as Page;
  const subjects = async (query: string) => (await page(query)).entries.map(({ subject }) => subject);
  return { gateway, page, subjects };
}

it('finds a text anywhere in an entry, however it is written', async () => {
  const { subjects } = await scene();
  expect(await subjects('search=THREE')).toEqual(['three']);
  expect(await subjects(`search=${encodeURIComponent('étoile <B>')}`)).toEqual(['two']);
  expect(await subjects('search=nobody-said-that')).toEqual([]);
  expect(await subjects('action=team&actor=admin')).toEqual(['three', 'two', 'one']);
  expect(await subjects('action=team&actor=gateway')).toEqual([]);
});

it('goes on where a page ended, to the end', async () => {
  const { page } = await scene();
  const first = await page('action=team&limit=2');
  expect(first.entries.map(({ subject }) => subject)).toEqual(['three', 'two']);
  expect(first.next).toBe(first.entries[1]?.id);
  const second = await page(`action=team&limit=2&before=${first.next}`);
  expect(second).toMatchObject({ entries: [{ subject: 'one' }], next: null });
  const all = await page('limit=1000');
  expect(all.next).toBeNull();
  expect((await page(`limit=${all.entries.length}`)).next).toBeNull();
  expect((await page(`limit=${all.entries.length - 1}`)).next).not.toBeNull();
});

it.each(['search=', `search=${'x'.repeat(201)}`, 'search=a&search=b', 'actor='])(
  'refuses %s',
  async (query) => {
    const { gateway } = await scene();
    const { statusCode } = await gateway.admin.inject({
      ...{ method: 'GET', url: `/admin/v1/audit?${query}` },
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(statusCode).toBe(400);
  },
);
