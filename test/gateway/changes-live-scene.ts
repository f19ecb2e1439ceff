/** Readers of the feed of changes on sockets, which wait for changes. Seconds of the process are short: waits end by the clock. */
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import { createStandingClock } from '../support/test-clock.js';
import { CHANGES, changesScene } from './changes-scene.js';

const TICK_MS = 20;

/** Timers of a second come after 20 ms. Until the end of the test. */
function shortSeconds(): void {
  const { setInterval: machine } = globalThis;
  vi.spyOn(globalThis, 'setInterval').mockImplementation(((work: () => void, ms?: number) =>
    machine(work, ms === 1000 ? TICK_MS : ms)) as typeof setInterval);
}

export type LiveScene = Awaited<ReturnType<typeof liveScene>>;

/** @param more of the query of the kind that is proven, beginning with `&` */
export async function liveScene(options: Parameters<typeof changesScene>[1] = {}, more = '') {
  shortSeconds();
  const scene = await changesScene(more, { clock: createStandingClock(), ...options });
  const { gateway, key } = scene;
  const url = await gateway.data.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => gateway.data.server.closeAllConnections());
  const { tail } = gateway.services.reporting.feed;
  /** Time passes for those who wait, and the process notices it. */
  const pass = async (ms: number) => {
    gateway.clock.pass(ms);
    await looks();
  };
  /** Until the process has looked twice. */
  async function looks(): Promise<void> {
    const read = vi.spyOn(gateway.store.changes, 'read');
    await expect.poll(() => read.mock.calls.length).toBeGreaterThan(1);
    read.mockRestore();
  }
  return {
    ...scene,
    url,
    pass,
    looks,
    waiting: () => tail.size,
    /** Until so many readers wait. */
    untilWaiting: (count = 1) => expect.poll(() => tail.size).toBe(count),
    live: (query: string, asking = key, signal?: AbortSignal) =>
      fetch(`${url}${CHANGES}?${query}`, {
        headers: { 'x-api-key': asking },
        ...(signal && { signal }),
      }),
    /** A connection that sends the request of a reader, and reads nothing. */
    async deaf(query: string): Promise<Socket> {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {}).pause();
      socket.write(`GET ${CHANGES}?${query} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`);
      return socket;
    },
  };
}

/** Headers of an answer that tell a reader where it is. */
export const placeIn = ({ headers }: Response) => ({
  next: String(headers.get('stream-next-offset')),
  isUpToDate: headers.get('stream-up-to-date') === 'true',
  cursor: Number(headers.get('stream-cursor') ?? 'NaN'),
});

export interface Event {
  /** `comment` for a comment. */
  readonly type: string;
  readonly data: unknown;
}

export interface Control {
  readonly streamNextOffset: string;
  readonly streamCursor: string;
  readonly upToDate?: true;
}

/** Server-sent events as they come. */
export function eventsOf(response: Response) {
  const state = { text: '', isOver: false };
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  const take = async (): Promise<void> => {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return;
      state.text += decoder.decode(value, { stream: true });
    }
  };
  const over = take().finally(() => {
    state.isOver = true;
  });
  // Whoever waits for it is told.
  over.catch(() => {});
  const events = (): Event[] =>
    state.text
      .split('\n\n')
      .slice(0, -1)
      .map((block) => {
        const [, type = 'comment', data = 'null'] = /^event: (\w+)\ndata:(.*)$/.exec(block) ?? [];
        return { type, data: JSON.parse(data) as unknown };
      });
  return {
    events,
    /** So many events. */
    first: (count: number) =>
      expect
        .poll(() => events().length)
        .toBeGreaterThanOrEqual(count)
        .then(() => events()),
    over,
    get isOver() {
      return state.isOver;
    },
    close: () => reader?.cancel(),
  };
}
