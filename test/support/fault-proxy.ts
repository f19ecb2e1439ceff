/** A TCP proxy that does to what goes through it what networks and servers do when they fail. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Chance, chanceOf } from '../simulation/chance-of-seed.js';
import { createShuffle } from './redis-shuffle.js';

export type Fault =
  | { readonly kind: 'none' }
  /** Each piece is late by as much, either way; their order stays. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** Connections are reset: at once, and after so many bytes of the answer. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Connections stay open and what is sent is taken, and nothing is passed on any more. */
  | { readonly kind: 'half-open' }
  /** The answer ends, in good order, after so many bytes. */
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  /** Answers come by so many bytes a second. */
  | { readonly kind: 'drip'; readonly bytesPerSecond: number }
  /** Nobody listens. */
  | { readonly kind: 'stop' }
  /** With this share of the pieces of answers, their connection is reset amid the piece. */
  | { readonly kind: 'some'; readonly share: number }
  /** Before Redis: messages come in another order, and some of them twice; all else as it does. */
  | { readonly kind: 'shuffle' };

export interface FaultProxy {
  /** Of the proxy itself; the same as long as it lives. */
  readonly port: number;
  /** Connections open now. */
  readonly connections: number;
  /** Pieces that were broken by `some`. */
  readonly broken: number;
  /** From now on, also for connections that are open. */
  set(fault: Fault): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

const DRIP_EVERY_MS = 100;

/** @param target a port of the loopback @param seed decides which pieces `some` breaks, and where */
export async function startFaultProxy(target: number, seed: number): Promise<FaultProxy> {
  const chance: Chance = chanceOf(seed, `proxy of ${target}`);
  const pairs = new Set<Pair>();
  let fault: Fault = { kind: 'none' };
  let broken = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pair = { near, far };
    pairs.add(pair);
    for (const socket of [near, far])
      socket
        .on('error', () => {})
        .once('close', () => {
          pairs.delete(pair);
          if (fault.kind !== 'half-open') end(pair, false);
        });
    carry(
      near,
      far,
      () => delayOf(fault),
      () => fault.kind === 'half-open',
    );
    answer(pair);
    if (fault.kind === 'reset' && fault.afterBytes === 0) end(pair, true);
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;

  /** What comes back from the server. */
  function answer(pair: Pair): void {
    const { near, far } = pair;
    let passed = 0;
    const line = createLine();
    const write = (bytes: Buffer) => void (near.writable && near.write(bytes));
    const shuffle = createShuffle(write, chance);
    far.on('data', (bytes: Buffer) => {
      if (fault.kind === 'half-open') return;
      if ((fault.kind === 'shuffle' || shuffle.isAmid) && shuffle.take(bytes)) return;
      const isPicked = fault.kind === 'some' && chance.is(fault.share);
      if (isPicked) broken += 1;
      const room = isPicked ? chance.below(bytes.length) : roomOf(fault) - passed;
      passed += bytes.length;
      const isCut = bytes.length > room;
      const sent = isCut ? bytes.subarray(0, Math.max(0, room)) : bytes;
      if (fault.kind === 'drip') return drip(near, far, sent, fault.bytesPerSecond);
      line(delayOf(fault), () => write(sent));
      if (!isCut) return;
      if (fault.kind === 'truncate') {
        near.end();
        far.destroy();
      } else setImmediate(() => end(pair, true));
    });
    far.on('end', () => {
      if (fault.kind !== 'half-open') line(delayOf(fault), () => near.end());
    });
  }

  function end(pair: Pair, byReset: boolean): void {
    pairs.delete(pair);
    if (byReset && !pair.near.destroyed) pair.near.resetAndDestroy();
    pair.near.destroy();
    pair.far.destroy();
  }

  return {
    port,
    get connections() {
      return pairs.size;
    },
    get broken() {
      return broken;
    },
    async set(next) {
      const before = fault;
      fault = next;
      // What was held back is gone: a connection that lost bytes is no use any more.
      const isOver = before.kind === 'half-open' || before.kind === 'drip';
      if (isOver || next.kind === 'reset' || next.kind === 'stop') for (const pair of pairs) end(pair, true);
      if (next.kind === 'stop' && server.listening) {
        server.close();
        await once(server, 'close');
      }
      if (next.kind !== 'stop' && !server.listening) await listen(server, port);
    },
    async close() {
      for (const pair of pairs) end(pair, false);
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

const delayOf = (fault: Fault): number => (fault.kind === 'latency' ? fault.ms : 0);

/** Bytes of an answer that pass. */
const roomOf = (fault: Fault): number =>
  fault.kind === 'truncate' || fault.kind === 'reset' ? fault.afterBytes : Number.POSITIVE_INFINITY;

/** Work that is put off, and stays in its order. */
function createLine(): (ms: number, work: () => void) => void {
  let waiting = 0;
  let last = Promise.resolve();
  return (ms, work) => {
    if (ms === 0 && waiting === 0) return work();
    waiting += 1;
    const due = new Promise<void>((resolve) => void setTimeout(resolve, ms));
    last = last
      .then(() => due)
      .then(() => {
        waiting -= 1;
        work();
      });
  };
}

/** What goes to the server. */
function carry(from: Socket, to: Socket, delay: () => number, isHeld: () => boolean): void {
  const line = createLine();
  from.on('data', (bytes: Buffer) => {
    if (!isHeld()) line(delay(), () => to.writable && to.write(bytes));
  });
  from.on('end', () => {
    if (!isHeld()) line(delay(), () => to.end());
  });
}

function drip(near: Socket, far: Socket, bytes: Buffer, perSecond: number): void {
  far.pause();
  const step = Math.max(1, Math.round((perSecond * DRIP_EVERY_MS) / 1000));
  let at = 0;
  const timer = setInterval(() => {
    if (near.writable) near.write(bytes.subarray(at, at + step));
    at += step;
    if (at < bytes.length && near.writable) return;
    clearInterval(timer);
    far.resume();
  }, DRIP_EVERY_MS);
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
