/**
 * Debian's Chromium before a real gateway, as a person sits before it. Whatever the page says on its console, and
 * whatever its policy had to hinder, fails the test.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe, { type RunOptions } from 'axe-core';
import { type BrowserContext, type ConsoleMessage, chromium, type Page, type Request } from 'playwright-core';
import { expect, inject, onTestFinished } from 'vitest';
import { ROOT } from './processes.js';

/** Pictures are for people, and take time: they are kept where `SCREENSHOTS=1` asks for them, not in the repository. */
const SHOTS = process.env.SCREENSHOTS === '1' ? join(ROOT, 'coverage', 'screenshots') : null;

interface Look {
  readonly name: 'light' | 'dark' | 'phone';
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { readonly width: number; readonly height: number };
}

const LOOKS: readonly [Look, ...Look[]] = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1360, height: 900 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
];

/** Of this process: it ends with it. */
let opened: Promise<BrowserContext> | null = null;
/** The tab that every test uses again: a new one has a new renderer, which takes most of the time of a short test. */
let tab: Page | null = null;
let tabIsFree = true;

async function open(): Promise<BrowserContext> {
  const answer = await fetch(inject('browserAt'));
  if (!answer.ok) throw new Error(await answer.text());
  const browser = await chromium.connect(await answer.text());
  const context = await browser.newContext({ reducedMotion: 'reduce', timezoneId: 'UTC' });
  // Long, because a loaded machine is slow; nothing waits for it to pass.
  context.setDefaultTimeout(60_000);
  return context;
}

/** The page is left when the test is through, with its cookies. */
export async function visit(url: string) {
  opened ??= open();
  const context = await opened;
  const page = tab !== null && tabIsFree ? tab : await context.newPage();
  if (tabIsFree) tab = page;
  tabIsFree = false;
  const faults: string[] = [];
  const ignore = watch(page, faults);
  onTestFinished(async () => {
    ignore();
    for (const other of context.pages()) if (other !== tab) await other.close();
    await tab?.goto('about:blank');
    await context.clearCookies();
    await context.clearPermissions();
    tabIsFree = true;
  });
  await appear(page, LOOKS[0]);
  await page.goto(url);
  return {
    page,
    context,
    /** Unexpected: console errors, faults of the page, violations of its policy. */
    faults,
    /** Forgets the faults so far: a refused call makes an error on the console that is expected. */
    forgive: () => void faults.splice(0),
    /** Expects that axe finds nothing wrong in any of the looks; keeps a picture of each, if pictures are wanted. */
    async shots(name: string) {
      const wrong: string[] = [];
      const check = await loadAxe(page);
      for (const other of LOOKS) {
        await appear(page, other);
        await shoot(page, `${name}-${other.name}`);
        wrong.push(...(await check(RULES[other.name])).map((fault) => `${other.name}: ${fault}`));
      }
      await appear(page, LOOKS[0]);
      expect(wrong).toEqual([]);
    },
    /** For what has no picture. @returns what axe finds wrong, a line each */
    axe: async () => (await loadAxe(page))(RULES.light),
  };
}

async function appear(page: Page, { colorScheme, viewport }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport);
}

/** @returns ends it */
function watch(page: Page, faults: string[]): () => void {
  // The page asks for a session before there is one, and Chromium writes every 401 on the console.
  const expected = /status of 401/;
  const listeners = {
    console(message: ConsoleMessage) {
      if (['error', 'warning'].includes(message.type()) && !expected.test(message.text()))
        faults.push(message.text());
    },
    pageerror: (error: Error) => void faults.push(String(error)),
    request(request: Request) {
      if (new URL(request.url()).hostname !== '127.0.0.1') faults.push(`asked elsewhere: ${request.url()}`);
    },
  };
  page.on('console', listeners.console).on('pageerror', listeners.pageerror).on('request', listeners.request);
  return () =>
    page
      .off('console', listeners.console)
      .off('pageerror', listeners.pageerror)
      .off('request', listeners.request);
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

/** In a world of its own, beside the page's policy. @returns a check by some rules: what is wrong, a line each */
async function loadAxe(page: Page): Promise<(rules: RunOptions) => Promise<string[]>> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  });
  await session.send('Runtime.evaluate', { expression: axe.source, contextId });
  return async (rules) => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression: `axe.run(document, ${JSON.stringify({ ...rules, resultTypes: ['violations'] })})`,
      contextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) throw new Error(`axe did not run: ${exceptionDetails.text}`);
    return (result.value as AxeResults).violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
    );
  };
}
