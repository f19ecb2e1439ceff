/**
 * What is used of buckets that do not refill, told by each replica to the others: without the store, each then uses its part of
 * what is left, also of a bucket that it never drew from.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { randomId } from '../../lib/chance.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Bus } from '../../store/port.js';

const CHANNEL = 'buckets';

const Use = Type.Object({
  key: Type.String(),
  capacity: Type.Number({ minimum: 0 }),
  refillPerMs: Type.Literal(0),
  ttlMs: Type.Number({ minimum: 1 }),
  batch: Type.Number({ minimum: 1 }),
  used: Type.Number({ minimum: 0 }),
});
const News = recordForm(Type.Object({ from: Type.String(), uses: Type.Array(Use) }));

export type BucketUse = RecordOf<typeof News>['uses'][number];

interface BucketNewsOptions {
  readonly bus: Bus;
  readonly replicas: { readonly count: number };
  readonly logger: Logger;
}

export function createBucketNews(
  { bus, replicas, logger }: BucketNewsOptions,
  onUse: (use: BucketUse) => void,
) {
  const self = randomId();
  const untold = new Map<string, BucketUse>();
  const unsubscribe = bus.subscribe(CHANNEL, (message) => {
    const heard = News.parse(message);
    if (heard !== null && heard.from !== self) heard.uses.forEach(onUse);
  });
  return {
    note(use: BucketUse): void {
      if (replicas.count > 1) untold.set(use.key, use);
    },
    /** A lost message is made up for by the next one about the bucket. */
    async publish(): Promise<void> {
      if (untold.size === 0) return;
      const message = JSON.stringify({ from: self, uses: [...untold.values()] });
      untold.clear();
      await bus.publish(CHANNEL, message).catch((error: unknown) => {
        logger.debug({ err: error }, 'failed to tell the other replicas what is used of a bucket');
      });
    },
    close: unsubscribe,
  };
}
