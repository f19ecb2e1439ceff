import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { expect, it } from 'vitest';
import { onResponseClosed } from '../../src/http/on-response-closed.js';

/** A reply whose connection may be gone. */
function replyOn(raw: { readonly destroyed: boolean; readonly writableFinished: boolean }) {
  const emitter = Object.assign(new EventEmitter(), raw);
  return { reply: { raw: emitter } as unknown as FastifyReply, emitter };
}

it('tells at the end of the answer, and when the connection closes', () => {
  const { reply, emitter } = replyOn({ destroyed: false, writableFinished: false });
  let told = 0;
  onResponseClosed(reply)(() => (told += 1));
  expect(told).toBe(0);
  emitter.emit('close');
  expect(told).toBe(1);
});

it.each([
  { destroyed: true, writableFinished: false },
  { destroyed: false, writableFinished: true },
])('tells at once of a request that is over already: no event will come', (raw) => {
  let told = 0;
  onResponseClosed(replyOn(raw).reply)(() => (told += 1));
  expect(told).toBe(1);
});
