/**
 * Questions that were understood, by what was sent: reading them again would come to the same. What is understood is
 * remembered; what is allowed never is, and neither is a body nor a key.
 */
import { LRUCache } from 'lru-cache';
import type { ReportCall } from '../http/report-call.js';
import type { Format } from '../report/output-options.js';
import type { ReadQuestion } from './read-question.js';

/** What of a call decides how it is understood, beside the default format of its team. */
export type Sent = Pick<ReportCall, 'method' | 'target' | 'accept' | 'acceptEncoding'>;

export interface KnownQuestions {
  /** @param nowMs a question is good for the day on which it was read, and for no moment before or after */
  find(sent: Sent, defaultFormat: Format, nowMs: number): ReadQuestion | undefined;
  /** Keeps what can be asked again by a query. */
  remember(sent: Sent, defaultFormat: Format, question: ReadQuestion): void;
}

interface Known {
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly defaultFormat: Format;
  readonly question: ReadQuestion;
}

/** Longer ones are seldom asked twice, and would take the room of many. */
const MAX_CHARS = 1024;
const MAX_BYTES = 16_777_216;
/** What one takes beside its own texts, about; and what each parameter adds that nobody knows, for it is kept by name. */
const [ONE_BYTES, PARAMETER_BYTES] = [4096, 640];
/** Ways to ask for one target: what clients accept differs little. */
const MAX_WAYS = 8;

export function createKnownQuestions(): KnownQuestions {
  const known = new LRUCache<string, readonly Known[]>({
    maxSize: MAX_BYTES,
    sizeCalculation: (ways, target) =>
      ways.length * (ONE_BYTES + target.split('&').length * PARAMETER_BYTES) + 2 * target.length,
  });

  return {
    find(sent, defaultFormat, nowMs) {
      if (sent.method === 'POST') return undefined;
      for (const one of known.get(sent.target) ?? NONE) {
        if (!isSentAs(one, sent, defaultFormat)) continue;
        const { fromMs, untilMs } = one.question.readOn;
        return nowMs >= fromMs && nowMs < untilMs ? one.question : undefined;
      }
      return undefined;
    },
    remember(sent, defaultFormat, question) {
      const { method, target, accept, acceptEncoding } = sent;
      const chars = target.length + (accept?.length ?? 0) + (acceptEncoding?.length ?? 0);
      if (method === 'POST' || chars > MAX_CHARS) return;
      const others = (known.get(target) ?? NONE).filter((one) => !isSentAs(one, sent, defaultFormat));
      known.set(target, [{ accept, acceptEncoding, defaultFormat, question }, ...others].slice(0, MAX_WAYS));
    },
  };
}

const NONE: readonly Known[] = [];

function isSentAs(known: Known, { accept, acceptEncoding }: Sent, defaultFormat: Format): boolean {
  return (
    known.accept === accept &&
    known.acceptEncoding === acceptEncoding &&
    known.defaultFormat === defaultFormat
  );
}
