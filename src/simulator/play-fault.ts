import type { ServerResponse } from 'node:http';
import { type Answer, htmlAnswer, jsonAnswer } from './answer.js';
import type { Fault } from './faults.js';
import { send, type WireAnswer } from './send-answer.js';

/** The call that a fault is played to. */
export interface Stage {
  readonly response: ServerResponse;
  /** The answer without the fault. Called only by faults that show it, as it may change the platform. */
  trueAnswer(): WireAnswer;
  /** Adds the usual headers, without any content encoding. */
  toWire(answer: Answer): WireAnswer;
  /** Real milliseconds; rejects when the simulator is closed. */
  pause(ms: number): Promise<void>;
  /** Records the sent status. */
  noteStatus(status: number): void;
}

const OVERSIZE_BYTES = 100 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
const METADATA_ADDRESS = 'http://169.254.169.254/latest/meta-data/';

/** Plays a fault to its end, or until the caller disconnects. */
export async function playFault(fault: Fault, stage: Stage): Promise<void> {
  const { response } = stage;
  const drips = fault.kind === 'slow' || fault.kind === 'hang-headers';
  if (fault.latencyMs !== undefined && !drips) await stage.pause(fault.latencyMs);
  switch (fault.kind) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'truncate':
      return truncate(fault, stage);
    case 'oversize':
      return pour(fault.bytes ?? OVERSIZE_BYTES, stage);
    case 'slow':
      return drip(fault, stage);
    case 'hang-headers':
      return dripHeaders(fault, stage);
    case 'garbage':
      return reply(garbage(stage), stage);
    case 'status':
    case 'html':
    case 'redirect':
      return reply(stage.toWire(plannedAnswer(fault, fault.kind)), stage);
  }
}

function reply(answer: WireAnswer, { response, noteStatus }: Stage): void {
  noteStatus(answer.status);
  send(response, answer);
}

function plannedAnswer(fault: Fault, kind: 'status' | 'html' | 'redirect'): Answer {
  const retry: Record<string, string> =
    fault.retryAfterS === undefined ? {} : { 'retry-after': String(fault.retryAfterS) };
  if (kind === 'status')
    return jsonAnswer(fault.status ?? 500, { message: fault.message ?? 'Server Error' }, retry);
  if (kind === 'html') return htmlAnswer(fault.status ?? 200, fault.message ?? 'Down for maintenance', retry);
  return htmlAnswer(fault.status ?? 302, 'Redirecting', {
    ...retry,
    location: fault.location ?? METADATA_ADDRESS,
  });
}

function garbage({ toWire }: Stage): WireAnswer {
  const answer = toWire(jsonAnswer(200, ''));
  const body = Buffer.from('7b2264617461223a5b7b22696d7072657373696f6e73223a4e614e2c2c22ff00fe7d', 'hex');
  return { ...answer, body, headers: { ...answer.headers, 'content-length': String(body.length) } };
}

function truncate(fault: Fault, { response, trueAnswer, noteStatus }: Stage): void {
  const { status, headers, body } = trueAnswer();
  noteStatus(status);
  response.writeHead(status, headers);
  response.flushHeaders();
  const { socket } = response;
  response.write(body.subarray(0, fault.bytes ?? Math.floor(body.length / 2)), () => socket?.destroy());
}

async function pour(bytes: number, { response, toWire, noteStatus }: Stage): Promise<void> {
  const { 'content-length': _, ...headers } = toWire(jsonAnswer(200, '')).headers;
  noteStatus(200);
  response.writeHead(200, headers);
  const [head, tail] = ['{"data":[{"name":"', '"}]}'];
  response.write(head);
  const piece = Buffer.alloc(PIECE_BYTES, 'x');
  let left = bytes - head.length - tail.length;
  while (left > 0 && !response.destroyed) {
    const isFull = !response.write(left >= piece.length ? piece : piece.subarray(0, left));
    left -= piece.length;
    if (isFull) await drained(response);
  }
  response.end(tail);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}

async function drip(fault: Fault, { response, trueAnswer, pause, noteStatus }: Stage): Promise<void> {
  const { bytes = 1, latencyMs = 1000 } = fault;
  const { status, headers, body } = trueAnswer();
  noteStatus(status);
  response.writeHead(status, headers);
  response.flushHeaders();
  for (let sent = 0; sent < body.length && !response.destroyed; sent += Math.max(1, bytes)) {
    await pause(latencyMs);
    response.write(body.subarray(sent, sent + Math.max(1, bytes)));
  }
  response.end();
}

async function dripHeaders(fault: Fault, { response, pause }: Stage): Promise<void> {
  const { socket } = response;
  socket?.write('HTTP/1.1 200 OK\r\nserver: nginx\r\n');
  for (let line = 1; socket && !socket.destroyed; line++) {
    await pause(fault.latencyMs ?? 1000);
    socket.write(`x-line-${line}: and so on\r\n`);
  }
}
