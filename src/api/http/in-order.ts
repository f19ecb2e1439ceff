/**
 * The requests of one connection, one at a time. A request that was sent ahead is handled when the answers before it have
 * ended, and not at all if one of them closed the connection: it would be carried out, and its caller never told.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** With so many waiting, the connection is not read: they would fill the memory. Then its end is not noticed either. */
const MAX_WAITING = 100;

/** Answers that wait for their turn. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>();

export function inOrder(listener: RequestListener): RequestListener {
  return (request, response) => {
    // Node gives the socket to one answer at a time; after one that closes the connection it is not writable.
    if (response.socket === null) wait(request.socket, response, () => listener(request, response));
    else if (response.socket.writable) listener(request, response);
  };
}

function wait(socket: Socket, response: ServerResponse, go: () => void): void {
  const answers = waiting.get(socket) ?? watch(socket);
  answers.add(response);
  const pauseIfMany = () => {
    if (answers.size >= MAX_WAITING) socket.pause();
  };
  // Node resumes the socket at the end of each request.
  queueMicrotask(pauseIfMany);
  response.once('socket', () => {
    answers.delete(response);
    // Node is still passing the socket on, and may resume it.
    queueMicrotask(() => {
      pauseIfMany();
      if (answers.size === MAX_WAITING - 1) socket.resume();
      if (socket.writable) go();
    });
  });
}

/** When a connection ends, Node emits `close` on its current answer only; a count of answers waits for the others. */
function watch(socket: Socket): Set<ServerResponse> {
  const answers = new Set<ServerResponse>();
  waiting.set(socket, answers);
  socket.once('close', () => {
    for (const answer of answers) {
      answer.destroy();
      answer.emit('close');
    }
  });
  return answers;
}
