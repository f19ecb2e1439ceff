/**
 * Answers that wait their turn, where requests were sent ahead. When the connection ends Node tells the one whose turn
 * it is, and forgets the others: whatever was held for them would be held for ever.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** One listener for each connection, however many wait. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>();

/** To be called when a request has come: its answer gets its `close` whenever the connection ends. */
export function tellWhenGone({ socket }: IncomingMessage, response: ServerResponse): void {
  // It has its turn already: Node tells it.
  if (response.socket !== null) return;
  const answers = waiting.get(socket) ?? watch(socket);
  answers.add(response);
  response.once('close', () => answers.delete(response));
}

function watch(socket: Socket): Set<ServerResponse> {
  const answers = new Set<ServerResponse>();
  waiting.set(socket, answers);
  socket.once('close', () => {
    for (const answer of answers) {
      if (answer.socket !== null) continue;
      answer.destroy();
      answer.emit('close');
    }
  });
  return answers;
}
