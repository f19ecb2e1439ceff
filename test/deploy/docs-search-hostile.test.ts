/** The search of the documentation with hostile words. */
import { expect, it } from 'vitest';
import { withGateway } from '../support/start-gateway.js';

const fieldIn = (html: string) => /<input type="search"[^>]*>/.exec(html)?.[0];

it('a reader who searches for an attribute of the field still has it in the field, and in no other place', async () => {
  const { data } = await withGateway();
  const { body } = await data.inject(`/docs/search?q=${encodeURIComponent('name="q"')}`);
  expect(fieldIn(body)).toContain('name="q" value="name=&quot;q&quot;"');
  expect(body).toContain('<title>Search: name="q" · dsp-gateway</title>');
});
