import { describe, expect, it, vi } from 'vitest';
import type { Bus } from '../../src/store/port.js';
import { type OpenHarness, withStore } from './harness.js';

/** Long, because a loaded machine is slow; nothing waits for it to pass. */
const PATIENCE_MS = 20_000;

export function describeBus(open: OpenHarness): void {
  describe('bus', () => {
    it('brings messages to every listener of the channel, the publisher included, in order', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const [here = [], there = []] = await listen('news', store.bus, other.bus);
        for (const message of ['one', 'two', 'drei ✓']) await store.bus.publish('news', message);
        await vi.waitFor(() => {
          expect(here).toEqual(['one', 'two', 'drei ✓']);
          expect(there).toEqual(['one', 'two', 'drei ✓']);
        }, PATIENCE_MS);
      }));

    it('keeps channels apart', () =>
      withStore(open, async ({ store: { bus } }) => {
        const [news = []] = await listen('news', bus);
        const [weather = []] = await listen('weather', bus);
        await bus.publish('weather', 'rain');
        await bus.publish('news', 'last');
        await vi.waitFor(() => expect([news, weather]).toEqual([['last'], ['rain']]), PATIENCE_MS);
      }));

    it('delivers after the call that publishes has returned', () =>
      withStore(open, async ({ store: { bus } }) => {
        const [heard = []] = await listen('news', bus);
        const published = bus.publish('news', 'one');
        expect(heard).toEqual([]);
        await published;
        await vi.waitFor(() => expect(heard).toEqual(['one']), PATIENCE_MS);
      }));

    it('ends one subscription and no other, also of one function that listens twice', () =>
      withStore(open, async ({ store: { bus } }) => {
        const heard: string[] = [];
        const listener = (message: string) => void heard.push(message);
        const end = bus.subscribe('news', listener);
        bus.subscribe('news', listener);
        const [last = []] = await listen('news', bus);
        heard.length = 0;
        end();
        end();
        await bus.publish('news', 'one');
        await vi.waitFor(() => expect(last).toEqual(['one']), PATIENCE_MS);
        expect(heard).toEqual(['one']);
      }));

    it('can be listened to again after the last listener left', () =>
      withStore(open, async ({ store: { bus } }) => {
        bus.subscribe('news', () => {})();
        const [heard = []] = await listen('news', bus);
        await bus.publish('news', 'again');
        await vi.waitFor(() => expect(heard).toEqual(['again']), PATIENCE_MS);
      }));

    it('is not stopped by a listener that throws', () =>
      withStore(open, async ({ store: { bus } }) => {
        bus.subscribe('news', () => {
          throw new Error('a faulty listener');
        });
        const [heard = []] = await listen('news', bus);
        await bus.publish('news', 'one');
        await vi.waitFor(() => expect(heard).toEqual(['one']), PATIENCE_MS);
      }));
  });
}

/**
 * Subscribes on each bus, and waits until all have it: a subscription may take a round trip, and messages before it
 * are lost. @returns what each hears from then on
 */
async function listen(channel: string, ...buses: Bus[]): Promise<string[][]> {
  const heard = buses.map((bus) => {
    const messages: string[] = [];
    bus.subscribe(channel, (message) => void messages.push(message));
    return messages;
  });
  const allHear = (message: string) =>
    expect(heard.map((messages) => messages.at(-1))).toEqual(buses.map(() => message));
  await vi.waitFor(async () => {
    await buses[0]?.publish(channel, 'are you there?');
    allHear('are you there?');
  }, PATIENCE_MS);
  // What is still under way of those questions comes before this.
  await buses[0]?.publish(channel, 'that is all');
  await vi.waitFor(() => allHear('that is all'), PATIENCE_MS);
  for (const messages of heard) messages.length = 0;
  return heard;
}
