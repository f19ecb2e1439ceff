/** Worker threads for what takes long, so that a cached hit never waits for somebody's miss; see cost.ts. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { type EncodedEntry, encodeEntry, type RawWrite } from '../cache/entry.js';
import { GatewayError } from '../errors.js';
import { PACKAGE_ROOT } from '../package-root.js';
import type { DigestInput, DigestOutcome } from '../report/digest.js';
import { bodyHash } from '../report/entry.js';
import type { Packed } from '../tables/pack.js';
import { isHeavyToEncode, isHeavyToFormat, isHeavyToRead, isHeavyToTable } from './cost.js';
import {
  asBuffer,
  type DigestedAnswer,
  type EncodedBytes,
  type FormatTask,
  formatRows,
  readAnswer,
  type TabledAnswer,
  type TableTask,
  type Task,
  tableAnswer,
} from './tasks.js';

export interface Digested {
  readonly outcome: DigestOutcome;
  /** The answer's bytes in one piece; of a large one of which only days were wanted, none. */
  readonly bytes: Buffer;
  /** Their digest; empty when only days were wanted. */
  readonly hash: string;
}

export interface WorkerPool {
  /** @param chunks the answer in pieces, in order */
  digest(chunks: readonly Buffer[], ask: DigestInput, token: string): Promise<Digested>;
  /** @returns cache entries, in the same order */
  encode(entries: readonly RawWrite[]): Promise<EncodedEntry[]>;
  format(task: Omit<FormatTask, 'task'>): Promise<Buffer>;
  /** @throws GatewayError where the answer makes no table, or none that fits */
  table(task: Omit<TableTask, 'task'>): Promise<Packed>;
  close(): Promise<void>;
}

/** A thread needs the build, in tests too, where the sources run as they are. */
const WORKER = fileURLToPath(new URL('dist/workers/worker.js', PACKAGE_ROOT));

export function createWorkerPool(): WorkerPool {
  let threads: Piscina | null = null;
  /** Threads start with the first answer that needs one: many gateways never see one. */
  const run = (task: Task): Promise<unknown> => {
    threads ??= new Piscina({
      filename: WORKER,
      minThreads: 0,
      // One core stays with the requests.
      maxThreads: Math.max(1, availableParallelism() - 1),
      idleTimeout: 30_000,
    });
    return threads.run(task);
  };

  return {
    async digest(chunks, ask, token) {
      if (!isHeavyToRead(chunks)) {
        const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        return { bytes, outcome: readAnswer(bytes, ask, token), hash: ask.whole ? bodyHash(bytes) : '' };
      }
      const { outcome, bytes, hash } = (await run({ task: 'digest', chunks, ask, token })) as DigestedAnswer;
      return { outcome: withBuffers(outcome), bytes: asBuffer(bytes), hash };
    },
    async encode(entries) {
      if (!isHeavyToEncode(entries)) return entries.map(encodeEntry);
      const encoded = (await run({ task: 'encode', entries })) as EncodedBytes[];
      return encoded.map(({ header, body, facts }) => ({
        header: asBuffer(header),
        body: asBuffer(body),
        facts: asBuffer(facts),
      }));
    },
    async format(task) {
      if (!isHeavyToFormat(task)) return formatRows(task);
      return asBuffer((await run({ task: 'format', ...task })) as Uint8Array);
    },
    async table(task) {
      const told = isHeavyToTable(task.chunks)
        ? ((await run({ task: 'table', ...task })) as TabledAnswer)
        : tableAnswer(task);
      if (told.kind === 'packed') return told.packed;
      throw new GatewayError(told.code, told.options);
    },
    async close() {
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
