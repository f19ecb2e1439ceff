/**
 * Debian's Chromium before a real gateway, as a person sits before it. Whatever the page says on its console, and
 * whatever its policy had to hinder, fails the test.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe, { type RunOptions } from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect, inject } from 'vitest';
import { afterEachFile } from './after-file.js';
import { ROOT } from './processes.js';

/** Pictures are for people, and take time: they are kept where `SCREENSHOTS=1` asks for them, not in the repository. */
const SHOTS = process.env.SCREENSHOTS === '1' ? join(ROOT, 'coverage', 'screenshots') : null;

export interface Look {
  readonly name: 'light' | 'dark' | 'phone';
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { readonly width: number; readonly height: number };
}

export const LOOKS: readonly Look[] = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1360, height: 900 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
];

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What should not have happened: console errors, faults of the page, violations of its policy. */
  readonly faults: readonly string[];
  /** Whatever is thrown away: a lost connection makes errors on the console that are meant to be there. */
  forgive(): void;
  /** Keeps a picture of all of the page, where pictures are asked for. */
  shot(name: string): Promise<void>;
  /** In all three looks, one after the other; then it is as before. Expects that axe finds nothing wrong in any */
  shots(name: string): Promise<void>;
  /** For what has no picture. @returns what axe finds wrong, a line each */
  axe(): Promise<string[]>;
}

/** One for all files of this process: it ends with it. */
let browser: Promise<Browser> | null = null;

afterEachFile(visitsEnd);

/** Closes what was visited; the browser stays. Before a gateway in this process ends, for a page asks it as long as it is open. */
export async function visitsEnd(): Promise<void> {
  for (const context of (await browser)?.contexts() ?? []) await context.close();
}

function launched(): Promise<Browser> {
  return chromium.launch({
    executablePath: inject('chromium'),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
  });
}

export async function visit(url: string, look: Look = LOOKS[0] as Look): Promise<Visit> {
  browser ??= launched();
  const context = await (await browser).newContext({
    colorScheme: look.colorScheme,
    viewport: look.viewport,
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  // Long, because a loaded machine is slow; nothing waits for it to pass.
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  watch(page, faults);
  await page.goto(url);
  return {
    page,
    context,
    faults,
    forgive: () => faults.splice(0),
    shot: (name) => shoot(page, `${name}-${look.name}`),
    async shots(name) {
      const wrong: string[] = [];
      for (const other of LOOKS) {
        await page.emulateMedia({ colorScheme: other.colorScheme });
        await page.setViewportSize(other.viewport);
        await shoot(page, `${name}-${other.name}`);
        wrong.push(...(await axeOf(page, RULES[other.name])).map((fault) => `${other.name}: ${fault}`));
      }
      await page.emulateMedia({ colorScheme: look.colorScheme });
      await page.setViewportSize(look.viewport);
      expect(wrong).toEqual([]);
    },
    axe: () => axeOf(page, RULES.light),
  };
}

function watch(page: Page, faults: string[]): void {
  // A session that is not there yet is asked for, and Chromium writes every 401 on the console.
  const expected = /status of 401/;
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !expected.test(message.text()))
      faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') faults.push(`asked elsewhere: ${request.url()}`);
  });
}

async function shoot(page: Page, name: string): Promise<void> {
  // Charts follow the size of the window a frame later.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  if (SHOTS === null) return;
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** All once; in the dark the colours are others, and on a phone all but the colours may be. */
const RULES: Readonly<Record<Look['name'], RunOptions>> = {
  light: {},
  dark: { runOnly: ['color-contrast'] },
  phone: { rules: { 'color-contrast': { enabled: false } } },
};

/** In a world of its own, beside the page's policy. */
async function axeOf(page: Page, rules: RunOptions): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  });
  await session.send('Runtime.evaluate', { expression: axe.source, contextId: executionContextId });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, ${JSON.stringify({ ...rules, resultTypes: ['violations'] })})`,
    contextId: executionContextId,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  if (exceptionDetails !== undefined) throw new Error(`axe did not run: ${exceptionDetails.text}`);
  return (result.value as AxeResults).violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
}
