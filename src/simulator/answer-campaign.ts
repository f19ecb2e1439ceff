import { type Answer, invalidAnswer, jsonAnswer } from './answer.js';
import { refuseAccount } from './answer-report.js';
import { parseDay } from './days.js';
import { pageMembers, readPaging } from './paging.js';
import type { PhpInput } from './php-input.js';
import type { Platform, PlatformCall } from './platform.js';
import { isAbsent, readInteger } from './read-report-query.js';

const FIELDS = ['name', 'adDomain', 'clickUrl', 'dates', 'country', 'bid', 'budget', 'creativeSetIds'];

/** Creates a campaign; the same call again creates another one. It delivers nothing. */
export function createCampaign(platform: Platform, { input }: PlatformCall): Answer {
  const errors = checkFields(input);
  if (Object.keys(errors).length > 0) return invalidAnswer(errors);
  const userId = askedAccount(input);
  if (userId === undefined || !platform.catalogue.has(userId)) return refuseForeign(platform);
  const members = Object.fromEntries(FIELDS.map((field) => [field, input.get(field)]));
  return jsonAnswer(201, { id: platform.campaigns.create(userId, members) });
}

/** Reads by POST the campaigns of one advertiser or all, in pages. */
export function listCampaigns(platform: Platform, { input, origin, path }: PlatformCall): Answer {
  const userId = askedAccount(input);
  if (userId !== undefined && !platform.catalogue.has(userId)) return refuseForeign(platform);
  const all = platform.campaigns.list(userId);
  const paging = readPaging(input, origin + path);
  const data = all.slice((paging.page - 1) * paging.perPage, paging.page * paging.perPage);
  return jsonAnswer(200, { data, ...pageMembers(all.length, data.length, paging) });
}

export function showCampaign(platform: Platform, { path }: PlatformCall): Answer {
  const campaign = platform.campaigns.find(idOf(path));
  return campaign ? jsonAnswer(200, campaign) : unknownCampaign();
}

export function deleteCampaign(platform: Platform, { path }: PlatformCall): Answer {
  return platform.campaigns.remove(idOf(path)) ? jsonAnswer(200, { success: true }) : unknownCampaign();
}

function unknownCampaign(): Answer {
  return jsonAnswer(404, { message: 'No query results for model [Campaign].' });
}

function idOf(path: string): number {
  return Number(path.slice(path.lastIndexOf('/') + 1));
}

/** The account field is `userId` here; `advertiserId` is accepted, too. */
function askedAccount(input: PhpInput): number | undefined {
  return readInteger(input.get('userId')) ?? readInteger(input.get('advertiserId'));
}

function refuseForeign({ switches }: Platform): Answer {
  return refuseAccount(switches.foreignAdvertiser === 'empty' ? 404 : switches.foreignAdvertiser);
}

function checkFields(input: PhpInput): Record<string, string[]> {
  const errors: Record<string, string[]> = {};
  const need = (field: string, value: unknown, isFit: (value: unknown) => boolean, must: string) => {
    if (isAbsent(value)) errors[field] = [`The ${field} field is required.`];
    else if (!isFit(value)) errors[field] = [`The ${field} field must be ${must}.`];
  };
  const account = isAbsent(input.get('userId')) ? input.get('advertiserId') : input.get('userId');
  need('userId', account, (value) => readInteger(value) !== undefined, 'an integer');
  for (const field of ['name', 'adDomain', 'clickUrl', 'country']) {
    need(field, input.get(field), (value) => typeof value === 'string', 'a string');
  }
  need('bid', input.get('bid'), isAmount, 'a number');
  need('creativeSetIds', input.get('creativeSetIds'), Array.isArray, 'an array');
  for (const end of ['from', 'to']) {
    const isDay = (value: unknown) => typeof value === 'string' && parseDay(value) !== undefined;
    need(`dates.${end}`, memberOf(input.get('dates'), end), isDay, 'a date, Y-m-d');
  }
  for (const span of ['daily', 'total'])
    need(`budget.${span}`, memberOf(input.get('budget'), span), isAmount, 'a number');
  return errors;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value));
}
