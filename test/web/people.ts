/** The gateway that pages are served by, and what a person does before anything else. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { visit } from '../support/browser.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { tempFolder } from '../support/processes.js';
import type { SimulatedOptions } from '../support/start-gateway.js';

export const VIEWER = 'token-of-a-viewer-who-looks-alone';

/** @returns the settings of one more admin token, {@link VIEWER} */
export async function viewerAs(role: 'viewer' | 'operator' = 'viewer') {
  const tokenFile = join(await tempFolder(), 'viewer.token');
  await writeFile(tokenFile, VIEWER);
  return { adminTokens: [{ name: 'looker', role, tokenFile }] };
}

/** One for the tests of a file. Its day is the browser's; the names of its advertisers are hostile; it knows a viewer. */
export async function openPages(options: SimulatedOptions = {}): Promise<OpenGateway> {
  return openGateway({
    now: new Date().toISOString(),
    switches: { accountNames: 'hostile' },
    ...options,
    config: { auth: await viewerAs(), ...options.config },
  });
}

/** @param label of the field that asks for the secret: `Admin token`, `Team key` */
export async function signedIn(url: string, label: string, secret: string) {
  const seen = await visit(url);
  await seen.page.getByLabel(label).fill(secret);
  await seen.page.getByRole('button', { name: 'Sign in' }).click();
  await seen.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return seen;
}

/** What the button `Copy` copies. The browser of all tests has one clipboard: another test may write in between. */
export const expectCopied = (page: Page, within: Page | Locator = page) =>
  expect.poll(async () => {
    await within.getByRole('button', { name: 'Copy' }).click();
    return page.evaluate('navigator.clipboard.readText()');
  });
