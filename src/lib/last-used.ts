/** What is remembered for as long as it is used. */
import { LRUCache } from 'lru-cache';

/**
 * Up to `max` values: another one takes the place of the one that was used longest ago. Takes memory as it fills; told
 * of a number and not of a size, lru-cache sets room for all of them aside at once.
 */
export function createLastUsed<Value extends object | string | number | true>(
  max: number,
  options: Partial<Pick<LRUCache.OptionsTTLLimit<string, Value, unknown>, 'ttl' | 'perf' | 'dispose'>> = {},
): LRUCache<string, Value> {
  return new LRUCache<string, Value>({ maxSize: max, sizeCalculation: () => 1, ...options });
}
