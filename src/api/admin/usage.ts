/** Usage: what each team asked for, day by day. */
import type { FastifyInstance } from 'fastify';
import { invalidQuery } from '../../errors.js';
import { dayNumber } from '../../reports/query/days.js';
import type { Usage } from '../../teams/usage/usage.js';
import { getUsage } from '../operations/overview.js';
import { serve } from './serve.js';

/** Days shown when nothing is asked for: the last 30. */
const USUAL_DAYS = 30;
const MAX_DAYS = 400;

export function registerUsage(app: FastifyInstance, usage: Usage): void {
  serve(app, getUsage, async ({ query }) => {
    const usual = usage.daysBack(USUAL_DAYS - 1);
    const { from = usual.from, to = usual.to, team } = query;
    const days = (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
    if (days < 1) throw invalidQuery({ param: 'to', message: 'must not be before from' });
    if (days > MAX_DAYS)
      throw invalidQuery({ param: 'to', message: `must be at most ${MAX_DAYS} days from from` });
    return { from, to, usage: await usage.read(from, to, team) };
  });
}
