/**
 * The feed of changes: `GET /gateway/v1/changes`, the read part of Durable Streams 1.0 in JSON mode: catch-up, long poll, server-sent
 * events. Rights are judged when a request begins, and again before each batch of messages.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { entityTag, isNotModified } from '../../reports/cache/reply.js';
import type { Feed, FeedBatch } from '../../reports/feed/feed.js';
import { type Offset, writeOffset } from '../../reports/feed/offset.js';
import { digest } from '../../reports/query/platform-call.js';
import type { Services } from '../../server/services.js';
import { minuteUsedUp } from '../../teams/limits/limits.js';
import type { Count } from '../../telemetry/counters.js';
import { getChanges } from '../operations/past.js';
import { unlessAway } from './ask.js';
import {
  type ChangesQuestion,
  type FollowedReader,
  openCaller,
  readerOf,
  readQuestion,
} from './changes-question.js';
import { createWaits, type Waits, type WaitsOptions, type Woken } from './changes-waits.js';
import { serveTeam } from './serve.js';

interface ChangesOptions
  extends Pick<Services, 'identify' | 'clock' | 'nameOf'>,
    Omit<WaitsOptions, 'monotonicMs' | 'tail'> {
  readonly feed: Feed;
  readonly limits: Services['limits']['teams'];
  readonly count: Count;
}

interface Follow extends ChangesOptions {
  readonly waits: Waits;
}

/** A long poll, and a connection of events. */
const [POLL_MS, EVENTS_MS] = [30_000, 60_000];
const COMMENT_MS = 15_000;

export function registerChanges(app: FastifyInstance, options: ChangesOptions): void {
  const { feed, clock } = options;
  const waits = createWaits({ ...options, tail: feed.tail, monotonicMs: clock.monotonicMs });
  const f: Follow = { ...options, waits };
  const callerOf = openCaller(options.identify);
  serveTeam(app, getChanges, async (call, request, reply) => {
    request.trace.subject = null;
    const caller = callerOf(call);
    const question = readQuestion(call.query);
    const open = () => readerOf(callerOf(call), question, options.nameOf);
    const reader = readerOf(caller, question, options.nameOf);
    refuseFast(f, reader);
    void reply.headers(SHARED);
    if (request.method === 'HEAD') return await head(f, reply);
    if (question.live === null) {
      call.onResponseClosed(options.limits.place(reader.caller.team));
      return await catchUp(f, { question, reader, reply, request });
    }
    if (options.stopping())
      throw new GatewayError('not_ready', { detail: 'This process is stopping.', retryAfterS: 1 });
    const follower = { question, reader, reply, request, open };
    return question.live === 'sse' ? await sendEvents(f, follower) : await poll(f, follower);
  });
}

const SHARED = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'authorization, x-api-key',
};

interface Asked {
  readonly question: ChangesQuestion;
  readonly reader: FollowedReader;
  readonly reply: FastifyReply;
  readonly request: FastifyRequest;
}

/** With a look at its rights as they are now. */
interface Follower extends Asked {
  /** @throws GatewayError */
  readonly open: () => FollowedReader;
}

/** Answers without messages are not charged: they are refused while none could be. @throws GatewayError `rate_limited` */
function refuseFast({ limits }: Follow, { caller: { team } }: FollowedReader): void {
  const { left, resetS } = limits.rate(team);
  if (left <= 0) throw minuteUsedUp(team, resetS);
}

async function head(f: Follow, reply: FastifyReply): Promise<FastifyReply> {
  const newest = await unlessAway(f.feed.newest());
  return reply
    .headers({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(await streamHeaders(f, { ...newest, isUpToDate: false })),
    })
    .send(Buffer.alloc(0));
}

/** Where a question begins; `now` is the end of the feed. @throws GatewayError; StoreUnavailable */
async function beginOf(f: Follow, { from }: ChangesQuestion): Promise<'-1' | Offset> {
  return from === 'now' ? (await f.feed.newest()).next : from;
}

async function catchUp(f: Follow, asked: Asked): Promise<FastifyReply> {
  const { question, reader, reply, request } = asked;
  if (question.from === 'now') {
    const { next, sinceMs } = await unlessAway(f.feed.newest());
    const batch = { body: '[]', count: 0, next, isUpToDate: true, sinceMs };
    return await sendBatch(f, asked, batch, { 'cache-control': 'private, no-store' });
  }
  const batch = await unlessAway(f.feed.read(reader, question.from));
  const from = question.from === '-1' ? '-1' : writeOffset(question.from);
  const what = [from, writeOffset(batch.next), `${batch.isUpToDate}`, reader.view, `${f.feed.erased()}`];
  const tag = digest(what).slice(0, 22);
  const kept = { etag: entityTag(tag, 'identity'), 'cache-control': 'private, max-age=0' };
  if (!isNotModified(request.headers['if-none-match'], tag, 'identity'))
    return await sendBatch(f, asked, batch, kept);
  return reply
    .code(304)
    .headers({ ...kept, ...(await streamHeaders(f, batch)) })
    .send();
}

async function poll(f: Follow, follower: Follower): Promise<FastifyReply> {
  const { question, reply, request } = follower;
  const untilMs = f.clock.monotonicMs() + POLL_MS;
  const headers = {
    'cache-control': 'private, max-age=0',
    'stream-cursor': cursorAfter(question.cursor, f.clock.now()),
  };
  const found = await waitForBatch(f, follower, await firstOf(f, follower), untilMs);
  if (found === null) return reply;
  const { batch, reader } = found;
  // A narrow filter that has not come to the end yet goes on with the next request.
  if (batch.count > 0 || !batch.isUpToDate)
    return await sendBatch(f, { ...follower, reader }, batch, headers);
  request.trace.rows = 0;
  return reply
    .code(204)
    .headers({ ...headers, ...(await streamHeaders(f, batch)) })
    .send();
}

/** What there is at once: until then the request counts as a concurrent one. @throws GatewayError */
async function firstOf(f: Follow, { question, reader }: Asked): Promise<FeedBatch> {
  const leave = f.limits.place(reader.caller.team);
  try {
    const from = await unlessAway(beginOf(f, question));
    const known = from === '-1' ? null : await unlessAway(f.feed.readTail(reader, from));
    return known ?? (await unlessAway(f.feed.read(reader, from)));
  } finally {
    leave();
  }
}

/** @returns null: nobody waits any more. @throws GatewayError */
async function waitForBatch(f: Follow, follower: Follower, first: FeedBatch, untilMs: number) {
  let [batch, reader] = [first, follower.reader];
  if (batch.count > 0) return { batch, reader };
  const leave = f.waits.enter(reader);
  try {
    for (let why: Woken = 'news'; why === 'news' && batch.count === 0 && batch.isUpToDate; ) {
      const waited = await waitOn(f, follower, reader, batch, untilMs);
      ({ why } = waited);
      if (why === 'gone') return null;
      reader = follower.open();
      batch = await readOn(f, reader, waited);
    }
    return { batch, reader };
  } finally {
    leave();
  }
}

/** From the memory of this process if it reaches back so far. @throws GatewayError */
async function readOn(
  f: Follow,
  reader: FollowedReader,
  { next }: Pick<FeedBatch, 'next'>,
): Promise<FeedBatch> {
  return (await unlessAway(f.feed.readTail(reader, next))) ?? (await unlessAway(f.feed.read(reader, next)));
}

/** Charges the team for an answer with messages. @throws GatewayError `rate_limited` */
async function charge(f: Follow, { caller }: FollowedReader, request: FastifyRequest): Promise<void> {
  await f.limits.count(caller.team);
  request.trace.subject = CHANGES_PATH;
}

function noteSent(f: Follow, request: FastifyRequest, { count }: Pick<FeedBatch, 'count'>): void {
  request.trace.rows += count;
  f.count('changes_sent', {}, count);
}

/** Waits as {@link Waits} does; the time is no part of the duration of the request. @returns also where to read on */
async function waitOn(
  f: Follow,
  { request, reply, open }: Follower,
  reader: FollowedReader,
  { next }: FeedBatch,
  untilMs: number,
) {
  const sinceMs = f.clock.monotonicMs();
  const isSame = () => open().view === reader.view;
  const wait = { reader, isSame, position: next.position, untilMs, raw: reply.raw };
  const { why, from } = await f.waits.wait(wait);
  request.trace.waitedMs += f.clock.monotonicMs() - sinceMs;
  return { why, next: from ?? next };
}

const CHANGES_PATH = '/gateway/v1/changes';

async function sendBatch(
  f: Follow,
  { reader, reply, request }: Asked,
  batch: FeedBatch,
  headers: Readonly<Record<string, string>>,
): Promise<FastifyReply> {
  if (batch.count > 0) await charge(f, reader, request);
  noteSent(f, request, batch);
  const all = { ...headers, ...(await streamHeaders(f, batch)) };
  // As text its type would get a charset, which the type of a stream has not.
  return reply.headers(all).type('application/json').send(Buffer.from(batch.body));
}

/** Of every answer. */
async function streamHeaders(
  { feed }: Follow,
  { next, isUpToDate, sinceMs }: Omit<FeedBatch, 'body' | 'count'>,
) {
  const voiding = await feed.voiding();
  return {
    ...(voiding !== null && { 'changes-voiding': voiding }),
    'stream-next-offset': writeOffset(next),
    ...(isUpToDate && { 'stream-up-to-date': 'true' }),
    'changes-since': timeOf(sinceMs),
  };
}

const timeOf = (ms: number) => new Date(ms).toISOString();

const CURSOR_MS = 20_000;
/** Of Durable Streams: 9 October 2024. */
const CURSOR_EPOCH_MS = Date.UTC(2024, 9, 9);

/** The number of the interval, greater than the one sent: a cache must not answer the next request with this answer. */
function cursorAfter(sent: number | null, nowMs: number): string {
  const now = Math.max(0, Math.floor((nowMs - CURSOR_EPOCH_MS) / CURSOR_MS));
  return String(sent === null || sent < now ? now : sent + 1);
}

async function sendEvents(f: Follow, follower: Follower): Promise<FastifyReply> {
  const { reader, reply } = follower;
  // Before the headers: its errors are answers.
  const first = await firstOf(f, follower);
  if (reply.raw.destroyed) return reply;
  reply.raw.once('close', f.waits.enter(reader));
  if (first.count > 0) await charge(f, reader, follower.request);
  const headers = {
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    // Its events say whether they are up to date.
    ...(await streamHeaders(f, { ...first, isUpToDate: false })),
  };
  const stream = Readable.from(events(f, follower, first), { objectMode: false, highWaterMark: 1 });
  return reply.headers(headers).type('text/event-stream').send(stream);
}

/** Made as the reader takes them: a slow one costs nothing. An error ends them; the next request of the reader gets it as an answer. */
async function* events(f: Follow, follower: Follower, first: FeedBatch): AsyncGenerator<string> {
  const { monotonicMs, now } = f.clock;
  const { question, request, open } = follower;
  const endMs = monotonicMs() + EVENTS_MS;
  let [batch, isCharged, cursor] = [first, first.count > 0, cursorAfter(question.cursor, now())];
  noteSent(f, request, batch);
  yield eventsOf(batch, cursor);
  while (monotonicMs() < endMs && !f.stopping()) {
    const before = batch.next;
    let reader: FollowedReader;
    try {
      reader = open();
      if (batch.isUpToDate) {
        const untilMs = Math.min(endMs, monotonicMs() + COMMENT_MS);
        const waited = await waitOn(f, follower, reader, batch, untilMs);
        if (waited.why === 'gone' || waited.why === 'ended') return;
        batch = { ...batch, next: waited.next };
        reader = open();
      }
      batch = await readOn(f, reader, batch);
      if (batch.count > 0 && !isCharged) await charge(f, reader, request);
    } catch (error) {
      if (error instanceof GatewayError) return;
      throw error;
    }
    isCharged ||= batch.count > 0;
    if (batch.count === 0 && writeOffset(batch.next) === writeOffset(before)) yield ':\n\n';
    else {
      cursor = cursorAfter(Number(cursor), now());
      noteSent(f, request, batch);
      yield eventsOf(batch, cursor);
    }
  }
}

function eventsOf({ body, count, next, isUpToDate }: FeedBatch, cursor: string): string {
  const control = {
    streamNextOffset: writeOffset(next),
    streamCursor: cursor,
    ...(isUpToDate && { upToDate: true }),
  };
  const data = count === 0 ? '' : `event: data\ndata:${body}\n\n`;
  return `${data}event: control\ndata:${JSON.stringify(control)}\n\n`;
}
