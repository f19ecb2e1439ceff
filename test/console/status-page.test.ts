/** The console's first page on a bad day, on a document that holds no more than it needs. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ROOT } from '../support/processes.js';

class Element {
  readonly children: (Element | string)[] = [];
  append(child: Element | string): void {
    this.children.push(child);
  }
  setAttribute(): void {}
  addEventListener(): void {}
  get text(): string {
    return this.children.map((child) => (typeof child === 'string' ? child : child.text)).join('');
  }
}

beforeAll(() => {
  vi.stubGlobal('document', { createElement: () => new Element() });
  vi.stubGlobal('Node', Element);
});
afterAll(() => vi.unstubAllGlobals());

interface View {
  statusView(page: { api: () => Promise<object>; refresh: () => void }): Promise<Element[]>;
}

async function linesOf(status: object): Promise<string[]> {
  const { statusView } = (await import(join(ROOT, 'src', 'console', 'status.js'))) as View;
  const given = { ready: true, version: '1.2.3', uptimeSeconds: 5, processes: [], ...status };
  const view = await statusView({ api: async () => given, refresh: () => undefined });
  return view.map(({ text }) => text);
}

it('says what is wrong and what to do, in words, before all else', async () => {
  const finding = { level: 'not well', part: 'platform', says: 'the platform fails', do: 'look there' };
  const lines = await linesOf({ verdict: { level: 'not well', findings: [finding] } });
  expect(lines.slice(1, 4)).toEqual([
    'Ready, version 1.2.3, up for 5 s',
    'not well: the platform fails',
    'To do: look there',
  ]);
});

it('says that all is well, and shows processes as a table', async () => {
  const one = { id: 'x', host: 'vm', pid: 4200, version: '1.2.3', store: 'ok', l1Entries: 1 };
  const lines = await linesOf({ verdict: { level: 'well', findings: [] }, processes: [one] });
  expect(lines[2]).toBe('well');
  expect(lines.at(-1)).toContain('vm42001.2.3ok');
  expect(lines.join()).not.toMatch(/[{[]/);
});
