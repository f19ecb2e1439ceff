/** The first thing a person sees of either page. */
import { beforeAll, expect, it } from 'vitest';
import { LOOKS, visit } from '../support/browser.js';
import { type Gateway, startGateway } from '../support/processes.js';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ PLATFORM_BASE_URL: 'http://127.0.0.1:9' });
});

it.each(LOOKS)('asks for the secret, and nothing is wrong with the form: $name', async (look) => {
  const pages = [
    { url: `${gateway.admin}/`, label: 'Admin token', name: 'console-sign-in' },
    { url: `${gateway.data}/explorer`, label: 'Team key', name: 'explorer-sign-in' },
  ];
  for (const { url, label, name } of pages) {
    const { page, faults, shot, axe } = await visit(url, look);
    const field = page.getByLabel(label);
    await field.waitFor();
    expect(await page.evaluate('document.activeElement.getAttribute("name")')).toBe('secret');
    expect(await axe()).toEqual([]);
    await shot(name);
    await field.fill('nonsense-nonsense-nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor();
    expect(await field.inputValue()).toBe('');
    expect(await axe()).toEqual([]);
    expect(faults.filter((fault) => !/status of 4\d\d/.test(fault))).toEqual([]);
  }
});
