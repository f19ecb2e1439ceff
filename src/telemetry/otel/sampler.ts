/** Which requests are recorded, by the names of the specification. */
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';

const PARENT_BASED = 'parentbased_';

/** @param name one that the settings allow */
export function samplerOf(name: string, share: number): Sampler {
  if (name.startsWith(PARENT_BASED))
    return new ParentBasedSampler({ root: samplerOf(name.slice(PARENT_BASED.length), share) });
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(share) : new AlwaysOnSampler();
}
