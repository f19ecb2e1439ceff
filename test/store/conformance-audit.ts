import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../src/store/port.js';
import { change } from './conformance-registry.js';
import { type OpenHarness, withStore } from './harness.js';

const texts = async (registry: RegistryStore, limit: number, before?: string) =>
  (await registry.readAudit(limit, before)).map(({ text }) => text);

export function describeAudit(open: OpenHarness): void {
  describe('audit', () => {
    it('stores lines with their commit, and reads them newest first, page by page', () =>
      withStore(open, async ({ store: { registry } }) => {
        for (let at = 1; at <= 7; at += 2)
          await registry.commit(change({}, undefined, [`${at}`, `${at + 1} ✓`]));
        expect(await texts(registry, 3)).toEqual(['8 ✓', '7', '6 ✓']);
        const pages: string[][] = [];
        for (let before: string | undefined; ; ) {
          const page = await registry.readAudit(3, before);
          if (page.length === 0) break;
          pages.push(page.map(({ text }) => text));
          before = page.at(-1)?.id;
        }
        expect(pages).toEqual([['8 ✓', '7', '6 ✓'], ['5', '4 ✓', '3'], ['2 ✓', '1']]); // biome-ignore format: one thought
      }));

    it('goes on from the same place when lines are added between two pages', () =>
      withStore(open, async ({ store: { registry } }) => {
        await registry.commit(change({}, undefined, ['1', '2', '3']));
        const [last] = await registry.readAudit(1);
        await registry.commit(change({}, undefined, ['4']));
        expect(await texts(registry, 10, last?.id)).toEqual(['2', '1']);
      }));

    it('keeps the newest lines when there are too many, each under the id it had', () =>
      withStore(
        open,
        async ({ store: { registry } }) => {
          const ids: string[] = [];
          for (let at = 1; at <= 33; at += 1) {
            await registry.commit(change({}, undefined, [`${at}`]));
            ids.push(...(await registry.readAudit(1)).map(({ id }) => id));
            const newest = Array.from({ length: Math.min(at, 5) }, (_, back) => `${at - back}`);
            expect(await texts(registry, 100)).toEqual(newest);
            // As it is read by one who began to turn pages two lines ago.
            if (at > 2) expect(await texts(registry, 100, ids.at(-3))).toEqual(newest.slice(3));
          }
          expect(await texts(registry, 100, ids[0])).toEqual([]);
        },
        { auditMax: 5 },
      ));

    it('gives nothing for a limit of 0, and nothing before what is no line', () =>
      withStore(open, async ({ store: { registry } }) => {
        await registry.commit(change({}, undefined, ['1']));
        expect(await registry.readAudit(0)).toEqual([]);
        expect(await registry.readAudit(10, 'no such line')).toEqual([]);
        expect(await registry.readAudit(10, '')).toEqual([]);
      }));
  });
}
