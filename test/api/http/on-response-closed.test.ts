import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { onResponseClosed } from '../../../src/api/http/on-response-closed.js';

/** An answer whose connection may be gone. */
function answerOn(state: { readonly destroyed: boolean; readonly writableFinished: boolean }) {
  return Object.assign(new EventEmitter(), state) as unknown as ServerResponse;
}

it('tells at the end of the answer, and when the connection closes', () => {
  const answer = answerOn({ destroyed: false, writableFinished: false });
  let told = 0;
  onResponseClosed(answer)(() => (told += 1));
  expect(told).toBe(0);
  answer.emit('close');
  expect(told).toBe(1);
});

it.each([
  { destroyed: true, writableFinished: false },
  { destroyed: false, writableFinished: true },
])('tells at once of a request that is over already: no event will come', (state) => {
  let told = 0;
  onResponseClosed(answerOn(state))(() => (told += 1));
  expect(told).toBe(1);
});
