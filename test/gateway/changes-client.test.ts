/** The feed of changes, followed with the official client of Durable Streams and its State Protocol. */
import { DurableStream, DurableStreamError, FetchError, stream } from '@durable-streams/client';
import { type ChangeEvent, MaterializedState } from '@durable-streams/state';
import { expect, it, onTestFinished } from 'vitest';
import { type LiveScene, liveScene } from './changes-live-scene.js';
import { CHANGES } from './changes-scene.js';
import { BY_DATE, HOUR } from './history-scene.js';

const DAYS = ['2026-11-17', '2026-11-18', '2026-11-19'];

interface Day {
  readonly date: string;
  readonly revision: string;
  readonly totals: Readonly<Record<string, string>>;
}

/** A consumer that keeps what it was told, and where it is. */
class Consumer {
  readonly state = new MaterializedState();
  offset: string;
  batches = 0;
  #stop: (() => void) | undefined;

  constructor(offset: string) {
    this.offset = offset;
  }

  async follow(scene: LiveScene, live: 'long-poll' | 'sse' | true, filter = ''): Promise<void> {
    const { url, key } = scene;
    const ended = new AbortController();
    const response = await stream<ChangeEvent>({
      url: `${url}${CHANGES}${filter}`,
      headers: { 'x-api-key': key },
      signal: ended.signal,
      offset: this.offset,
      live,
      // The tests cut connections: it is to be back at once.
      backoffOptions: { initialDelay: 1, maxDelay: 20, multiplier: 1.5 },
      sseResilience: {
        minConnectionDuration: 0,
        backoffBaseDelay: 1,
        backoffMaxDelay: 20,
        logWarnings: false,
      },
    });
    this.#stop = () => ended.abort();
    // The client goes on after an answer or a connection that ended; of one that broke it tells.
    response.closed.catch(() => (ended.signal.aborted ? undefined : this.follow(scene, live, filter)));
    response.subscribeJson(async ({ items, offset }) => {
      this.state.applyBatch([...items]);
      this.offset = offset;
      this.batches += 1;
    });
  }

  stop(): void {
    this.#stop?.();
  }

  get days(): readonly unknown[] {
    const days = [...this.state.getType('day').values()] as Day[];
    return days.map(({ date, revision, totals }) => [date, revision, totals]).sort();
  }
}

interface Revisions {
  readonly data: readonly {
    readonly date: string;
    readonly revisions: readonly {
      readonly id: string;
      readonly totals: Readonly<Record<string, unknown>>;
    }[];
  }[];
}

/** The newest revision of each day, as history lists it. */
async function newestOf({ about }: LiveScene): Promise<readonly unknown[]> {
  const { data } = (await about('revisions', BY_DATE)).json<Revisions>();
  return data.map(({ date, revisions }) => {
    const { id, totals } = revisions.at(-1) as (typeof revisions)[number];
    return [date, id, Object.fromEntries(Object.entries(totals).map(([name, sum]) => [name, String(sum)]))];
  });
}

/** The platform says something else of one day, and is asked. */
async function restate({ gateway, ask }: LiveScene, day: string): Promise<void> {
  gateway.simulator.restate({ advertiserId: 1, from: day, to: day });
  await ask(BY_DATE);
  gateway.clock.advance(2 * HOUR);
  await ask(BY_DATE);
}

it.each(['long-poll', 'sse', true] as const)(
  'a consumer that follows with live=%s has the newest revisions, also after connections were cut and after it was away',
  async (live) => {
    const scene = await liveScene();
    const consumer = new Consumer(await scene.now());
    onTestFinished(() => consumer.stop());
    await consumer.follow(scene, live);
    await scene.ask(BY_DATE);
    scene.gateway.clock.advance(2 * HOUR);
    await expect.poll(() => consumer.days).toEqual(await newestOf(scene));
    expect(consumer.days).toHaveLength(3);
    for (const day of DAYS) {
      await restate(scene, day);
      if (day === '2026-11-18') scene.gateway.data.server.closeAllConnections();
      await expect.poll(() => consumer.days).toEqual(await newestOf(scene));
    }
    consumer.stop();
    await scene.untilWaiting(0);
    const before = consumer.days;
    await restate(scene, '2026-11-18');
    await restate(scene, '2026-11-19');
    expect(consumer.days).toEqual(before);
    await consumer.follow(scene, live);
    await expect.poll(() => consumer.days).toEqual(await newestOf(scene));
    expect(consumer.days).not.toEqual(before);
  },
);

it('a consumer of one advertiser gets its days alone, with filters in the address', async () => {
  const scene = await liveScene();
  const [one, both] = [new Consumer(await scene.now()), new Consumer(await scene.now())];
  onTestFinished(() => {
    for (const consumer of [one, both]) consumer.stop();
  });
  await one.follow(scene, 'sse', '?advertiserId=1&split=date');
  await both.follow(scene, 'long-poll', '?advertiserId=1&advertiserId=2');
  await scene.ask(BY_DATE);
  await scene.ask(BY_DATE.replace('advertiserId=1', 'advertiserId=2'));
  await expect.poll(() => both.days.length).toBe(6);
  await expect.poll(() => one.days).toEqual(await newestOf(scene));
});

it('the client catches up without live, and asks HEAD for the end', async () => {
  const scene = await liveScene();
  const offset = await scene.now();
  await scene.ask(BY_DATE);
  const { url, key } = scene;
  const options = { url: `${url}${CHANGES}`, headers: { 'x-api-key': key } };
  const response = await stream<ChangeEvent>({ ...options, offset, live: false });
  expect((await response.json()).map((one) => one.headers.operation)).toEqual(['insert', 'insert', 'insert']);
  expect([response.upToDate, response.offset]).toEqual([true, await scene.now()]);
  expect(await DurableStream.head(options)).toMatchObject({ exists: true, offset: await scene.now() });
});

it('the client passes on that an offset is lost, and that a key is not valid', async () => {
  const { url, key, now } = await liveScene();
  const lost = (await now()).replace(/^[a-z0-9]+/, 'another');
  const follow = (offset: string, asking: string) =>
    stream({
      url: `${url}${CHANGES}`,
      headers: { 'x-api-key': asking },
      ...{ offset, live: 'sse' },
    }).catch((error: unknown) => error);
  const gone = await follow(lost, key);
  expect(gone).toBeInstanceOf(FetchError);
  expect(gone).toMatchObject({ status: 410 });
  expect(JSON.stringify(gone)).toContain('offset=now');
  const refused = await follow('-1', 'dgw_none');
  expect(refused instanceof FetchError || refused instanceof DurableStreamError).toBe(true);
  expect(refused).toMatchObject({ status: 401 });
});
