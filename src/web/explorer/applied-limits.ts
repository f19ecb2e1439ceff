/** The limits that apply now, as another may be stricter than the team's. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { count, fromNow } from '../ui/format.js';

export type Me = AnswerTo<'GET /gateway/v1/me'>;

export function platformCalls({ limits, left, applies, forecast }: Me, nowMs: number) {
  const end = forecast?.exhaustedAt ? `, exhausted ${fromNow(forecast.exhaustedAt, nowMs)} at this pace` : '';
  const reset = `reset ${fromNow(applies.upstreamCallsResetAt, nowMs)}${end}`;
  const value = count(applies.upstreamCalls);
  if (applies.upstreamCallsLimitedBy === 'team')
    return {
      label: 'Platform calls left today',
      value,
      note: `of ${count(limits.upstreamCallsPerDay)}, ${reset}`,
    };
  return {
    label: 'Platform calls left now',
    value,
    note: `limit of the platform for all teams, ${reset}; ${count(left.upstreamCallsPerDay)} left for your team today`,
  };
}

export function concurrentRequests({ limits, left, applies }: Me) {
  const [here, all] = [count(applies.maxConcurrent), count(limits.maxConcurrent)];
  return {
    label: 'Concurrent requests left',
    value: count(left.maxConcurrent),
    note: here === all ? `of ${all}` : `of ${here} on this replica; ${all} on all replicas together`,
  };
}
