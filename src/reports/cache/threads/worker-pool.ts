/** Worker threads for what takes long, so that a cached hit never waits for somebody's miss; see cost.ts. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { GatewayError } from '../../../errors.js';
import { PACKAGE_ROOT } from '../../../lib/package-root.js';
import type { Packed } from '../../../tables/pack.js';
import type { FormatTask } from '../../rows/answer.js';
import type { DigestInput, DigestOutcome } from '../../rows/digest.js';
import { bodyHash } from '../../rows/entry.js';
import { type EncodedEntry, encodeEntry, type RawWrite } from '../entry.js';
import { isHeavyToEncode, isHeavyToFormat, isHeavyToRead, isHeavyToTable } from './cost.js';
import { asBuffer, formatRows, readAnswer, type TableTask, tableAnswer } from './tasks.js';
import type * as tasks from './worker.js';

/** A thread needs the build, in tests too, where the sources run as they are. */
const WORKER = fileURLToPath(new URL('dist/workers/worker.js', PACKAGE_ROOT));

export type WorkerPool = ReturnType<typeof createWorkerPool>;

export function createWorkerPool() {
  let threads: Piscina | null = null;
  /** Threads start with the first task that needs one: many gateways never have one. */
  const run = <T extends keyof typeof tasks>(
    name: T,
    input: Parameters<(typeof tasks)[T]>[0],
  ): Promise<ReturnType<(typeof tasks)[T]>> => {
    threads ??= new Piscina({
      filename: WORKER,
      minThreads: 0,
      // One core stays with the requests.
      maxThreads: Math.max(1, availableParallelism() - 1),
      idleTimeout: 30_000,
    });
    return threads.run(input, { name });
  };

  return {
    /**
     * @param chunks the answer in pieces, in order
     * @returns `bytes`: the answer in one piece; none of a large one of which only days are wanted. `hash`: their digest;
     * empty when only days are wanted
     */
    async digest(
      chunks: readonly Buffer[],
      ask: DigestInput,
      token: string,
    ): Promise<{ readonly outcome: DigestOutcome; readonly bytes: Buffer; readonly hash: string }> {
      if (!isHeavyToRead(chunks)) {
        const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        return { bytes, outcome: readAnswer(bytes, ask, token), hash: ask.whole ? bodyHash(bytes) : '' };
      }
      const { outcome, bytes, hash } = await run('digest', { chunks, ask, token });
      return { outcome: withBuffers(outcome), bytes: asBuffer(bytes), hash };
    },
    /** @returns cache entries, in the same order */
    async encode(entries: readonly RawWrite[]): Promise<EncodedEntry[]> {
      if (!isHeavyToEncode(entries)) return entries.map(encodeEntry);
      return (await run('encode', entries)).map(({ header, body, facts }) => ({
        header: asBuffer(header),
        body: asBuffer(body),
        facts: asBuffer(facts),
      }));
    },
    /** @throws RangeError when a table would be out of proportion to its rows */
    async format(task: FormatTask): Promise<Buffer> {
      return isHeavyToFormat(task) ? asBuffer(await run('format', task)) : formatRows(task);
    },
    /** @throws GatewayError where the answer makes no table, or none that fits */
    async table(task: TableTask): Promise<Packed> {
      const made = isHeavyToTable(task.chunks) ? await run('tableAnswer', task) : tableAnswer(task);
      if (made.kind === 'packed') return made.packed;
      throw new GatewayError(made.code, made.options);
    },
    async close(): Promise<void> {
      await threads?.close();
    },
  };
}

/** Buffers come from another thread as plain byte arrays. */
function withBuffers(outcome: DigestOutcome): DigestOutcome {
  if (outcome.kind !== 'digest') return outcome;
  const { digest } = outcome;
  return {
    kind: 'digest',
    digest: {
      ...digest,
      whole: digest.whole === null ? null : { ...digest.whole, body: asBuffer(digest.whole.body) },
      days: digest.days?.map((day) => ({ ...day, body: asBuffer(day.body) })) ?? null,
    },
  };
}
