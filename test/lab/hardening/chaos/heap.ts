/** What processes hold in memory, by their inspectors. */
import { once } from 'node:events';
import { WebSocket } from 'undici';
import type { Env, Process } from '../../../support/processes.js';
import { waitFor } from '../../../support/wait-for.js';

/** Lets a process that is started with it be asked, from this machine alone. */
export const INSPECTED: Env = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/**
 * What may stay of a case in one gateway. In the first its program is compiled (about 15 MiB), and each fills what is
 * remembered of questions and answers, up to bounds: that of questions alone is 16 MiB.
 */
const LEFT_MAX_BYTES = 40 * 2 ** 20;
const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)}`;

/**
 * @param before bytes held by each gateway, and `after` in the same order
 * @param since when `before` was, in words
 * @returns for people, and what is wrong with it, if anything is
 */
export function leftBehind(
  before: readonly number[],
  after: readonly number[],
  since = 'before',
): { note: string; fault: string | null } {
  const most = Math.max(...after.map((bytes, at) => bytes - (before[at] ?? 0)));
  return {
    note: `${after.map(mib).join(', ')} MiB held, at most ${mib(most)} MiB more than ${since}`,
    fault:
      most > LEFT_MAX_BYTES
        ? `${mib(most)} MiB were not let go of, ${mib(LEFT_MAX_BYTES)} MiB may stay`
        : null,
  };
}

/** Collects garbage first. @returns bytes of each: its heap, and what its objects hold outside of it */
export function heldBy(processes: readonly Process[]): Promise<number[]> {
  return Promise.all(processes.map(heldByOne));
}

async function heldByOne(asked: Process): Promise<number> {
  const url = await waitFor('an inspector', () => /listening on (ws:\S+)/.exec(asked.stderr)?.[1], asked);
  const inspector = new WebSocket(url);
  try {
    await once(inspector, 'open');
    await send(inspector, 1, 'HeapProfiler.collectGarbage');
    const { result } = await send(inspector, 2, 'Runtime.evaluate', {
      expression: 'process.memoryUsage().heapUsed + process.memoryUsage().external',
    });
    const { value } = result as { value?: unknown };
    if (typeof value !== 'number') throw new Error(`an inspector tells no memory: ${JSON.stringify(result)}`);
    return value;
  } finally {
    inspector.close();
  }
}

type Reply = Readonly<Record<string, unknown>>;

function send(inspector: WebSocket, id: number, method: string, params: object = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const take = ({ data }: { data: unknown }) => {
      const message = JSON.parse(String(data)) as { id?: number; result?: Reply; error?: unknown };
      if (message.id !== id) return;
      inspector.removeEventListener('message', take);
      if (message.result !== undefined) resolve(message.result);
      else reject(new Error(`${method}: ${JSON.stringify(message.error)}`));
    };
    inspector.addEventListener('message', take);
    inspector.addEventListener('close', () => reject(new Error(`${method}: the inspector went away`)));
    inspector.send(JSON.stringify({ id, method, params }));
  });
}
