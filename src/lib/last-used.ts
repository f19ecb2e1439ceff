import { LRUCache } from 'lru-cache';

/** Up to `max` values. Uses a size limit: with a count limit, lru-cache allocates all entries at once. */
export function createLastUsed<Value extends object | string | number | true>(
  max: number,
  options: Partial<Pick<LRUCache.OptionsTTLLimit<string, Value, unknown>, 'ttl' | 'perf' | 'dispose'>> = {},
): LRUCache<string, Value> {
  return new LRUCache<string, Value>({ maxSize: max, sizeCalculation: () => 1, ...options });
}
