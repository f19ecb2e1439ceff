/** From the text of a file of teams to teams, or to faults that name the line, the place and what is allowed. */
import Type, { type TSchema } from 'typebox';
import Value from 'typebox/value';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { FORMATS, NewTeam, SCOPES, TeamLimits } from '../auth/team.js';
import { MOST_UNITS } from '../write-guard/amount.js';
import { listFaults, MAX_TEAMS } from './team-list.js';

// What a place in a team's write guard may hold, in words.

const FIELD = 'a place in the body, e.g. body.budget.total';
const AMOUNT = `a number from 0 to ${MOST_UNITS}`;
const FIELD_NAMES =
  'a list of at most 200 names of members (a letter, then letters, digits, _ or -), each once';

/** By name, `*` standing for the index in a list. */
const RULE: Readonly<Record<string, string>> = {
  '': 'a mapping of budget, amounts, allowFields, requireIdempotencyKey',
  budget: 'a mapping of field, currencyField, currency, maxPerCall, maxPerDay',
  'budget.field': FIELD,
  'budget.currencyField': FIELD,
  'budget.currency': 'the code of a currency, e.g. EUR',
  'budget.maxPerCall': AMOUNT,
  'budget.maxPerDay': AMOUNT,
  amounts: 'a list of 1 to 20 mappings of field and max',
  'amounts.*': 'a mapping of field and max',
  'amounts.*.field': FIELD,
  'amounts.*.max': AMOUNT,
  allowFields: FIELD_NAMES,
  'allowFields.*': 'the name of a member: a letter, then letters, digits, _ or -',
  requireIdempotencyKey: 'true or false',
};

/** @param path below a route of the guard, e.g. `['budget', 'field']` */
function allowedInGuard(path: readonly string[]): string {
  const name = path.map((part) => (/^[0-9]+$/.test(part) ? '*' : part)).join('.');
  if (Object.hasOwn(RULE, name)) return RULE[name] as string;
  const above = path
    .slice(0, -1)
    .join('.')
    .replace(/\.[0-9]+$/, '.*');
  return `no member of this name; there is ${RULE[Object.hasOwn(RULE, above) ? above : '']}`;
}

// What a place in a file of teams may hold, in words.

const MEMBERS: Readonly<Record<string, string>> = {
  id: 'lower-case letters, digits and hyphens, at most 40',
  name: 'text of 1 to 200 characters',
  scopes: `a list of ${SCOPES.join(', ')}, each once`,
  advertisers: 'a list of advertiser ids (whole numbers from 1), each once, or "*" for all',
  limits: `a mapping of ${Object.keys(TeamLimits.properties).join(', ')}`,
  ipAllow: 'a list of IPv4 or IPv6 addresses, or ranges such as 10.0.0.0/8',
  defaultFormat: `one of ${FORMATS.join(', ')}`,
  disabled: 'true or false',
  writeGuard: 'a mapping of at most 100 routes (POST /api/v1/campaign/create) to their rules',
};

const SCOPE = `one of ${SCOPES.join(', ')}`;
const ADVERTISER = `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;

/** @param path e.g. `['teams', '0', 'limits', 'maxRangeDays']` */
function allowedAt(path: readonly string[]): string {
  const [list, index, member, part, ...inner] = path;
  if (list === undefined) return 'a mapping with the member teams';
  if (list !== 'teams') return 'no member of this name; there is teams alone';
  if (index === undefined) return 'a list of teams';
  if (member === undefined) return `a mapping of ${Object.keys(NewTeam.properties).join(', ')}`;
  if (/^(api)?keys?$/i.test(member)) {
    return 'no key, ever; issue one by: dsp-gateway keys issue <team>';
  }
  const words = Object.hasOwn(MEMBERS, member) ? MEMBERS[member] : undefined;
  if (words === undefined)
    return `no member of this name; there are ${Object.keys(NewTeam.properties).join(', ')}`;
  if (part === undefined) return words;
  if (member === 'scopes') return SCOPE;
  if (member === 'advertisers') return ADVERTISER;
  if (member === 'limits') return allowedLimit(part);
  if (member === 'writeGuard') return allowedInGuard(inner);
  return words;
}

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
}

function allowedLimit(name: string): string {
  const limits = TeamLimits.properties as Readonly<Record<string, TSchema & Bounds>>;
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  return limit === undefined
    ? `no limit of this name; there are ${Object.keys(limits).join(', ')}`
    : `a whole number from ${limit.minimum} to ${limit.maximum}`;
}

export interface ParsedTeams {
  readonly teams: readonly NewTeam[];
  /** One line each, e.g. `config/teams.yaml:7: teams.0.id: was "A"; allowed is …`; the teams count only without any. */
  readonly faults: readonly string[];
}

const TeamsFile = Type.Object(
  { teams: Type.Array(Type.Unknown(), { maxItems: MAX_TEAMS }) },
  { additionalProperties: false },
);

/** @param source the file's name, for messages */
export function parseTeams(text: string, source: string): ParsedTeams {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const syntax = [...document.errors, ...document.warnings].map(
    ({ code, linePos }) => `${source}:${linePos?.[0].line ?? 1}: ${syntaxFault(code)}`,
  );
  if (syntax.length > 0) return { teams: [], faults: syntax };
  const value = toPlain(document);
  if (value === UNDEFINED_ALIAS) {
    return { teams: [], faults: [`${source}: ${syntaxFault('BAD_ALIAS')}`] };
  }
  const lineOf = (path: readonly string[]) => lines.linePos(offsetOf(document, path)).line;
  const inOrder = (faults: readonly Fault[]) =>
    faults
      .map(({ path, text: words }) => ({
        line: lineOf(path),
        words: `${path.join('.') || 'file'}: ${words}`,
      }))
      .sort((left, right) => left.line - right.line)
      .map(({ line, words }) => `${source}:${line}: ${words}`);
  const faults = schemaFaults(value).map((path) => ({
    path,
    text: `was ${wasAt(value, path)}; allowed is ${allowedAt(path)}`,
  }));
  if (faults.length > 0) return { teams: [], faults: inOrder(faults) };
  const { teams } = value as { teams: NewTeam[] };
  const further = listFaults(teams).map(({ param, message }) => ({ path: param.split('.'), text: message }));
  return { teams, faults: inOrder(further) };
}

interface Fault {
  readonly path: readonly string[];
  readonly text: string;
}

/** The parser's own messages quote the file, its codes do not. */
function syntaxFault(code: string): string {
  if (code === 'BAD_ALIAS')
    return 'an alias (*) that nothing defines; text that starts with * needs quotes: "*"';
  return `is no YAML: ${code.toLowerCase().replaceAll('_', ' ')}`;
}

const UNDEFINED_ALIAS = Symbol('undefined alias');

function toPlain(document: Document): unknown {
  try {
    return document.toJS() ?? {};
  } catch {
    return UNDEFINED_ALIAS;
  }
}

/** The places at fault. Member by member, for the validator stops after a few faults. */
function schemaFaults(value: unknown): string[][] {
  if (!Value.Check(TeamsFile, value)) return placesOf(TeamsFile, value);
  return value.teams.flatMap((team, index) =>
    teamFaults(team).map((place) => ['teams', String(index), ...place]),
  );
}

function teamFaults(team: unknown): string[][] {
  if (typeof team !== 'object' || team === null || Array.isArray(team)) return [[]];
  const schemas: Readonly<Record<string, TSchema>> = NewTeam.properties;
  return Object.entries({ id: undefined, ...team }).flatMap(([name, member]) => {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    return schema === undefined ? [[name]] : placesOf(schema, member).map((place) => [name, ...place]);
  });
}

/** Each once. Of a place and one inside of it, the inner one says more. */
function placesOf(schema: TSchema, value: unknown): string[][] {
  const pointers = new Set<string>();
  for (const { keyword, instancePath, params } of Value.Errors(schema, value)) {
    // Each additional property is reported at its own place, too.
    if (keyword === 'additionalProperties') continue;
    const missing =
      keyword === 'required' ? (params as { requiredProperties: string[] }).requiredProperties : [];
    if (missing.length === 0) pointers.add(instancePath);
    for (const name of missing) pointers.add(`${instancePath}/${name}`);
  }
  const all = [...pointers];
  return all
    .filter((pointer) => !all.some((other) => other.startsWith(`${pointer}/`)))
    .map((pointer) => pointer.split('/').slice(1).map(unescaped));
}

/** JSON Pointer, RFC 6901. */
function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

const SHOWN_LENGTH = 60;

/** Only what stands in the place of a plain value is shown: elsewhere somebody may have put a secret. */
function wasAt(value: unknown, path: readonly string[]): string {
  const was = path.reduce<unknown>(
    (node, name) => (typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined),
    value,
  );
  if (was === undefined) return 'not set';
  if (allowedAt(path).startsWith('no ')) return 'set';
  if (was === null) return 'nothing';
  if (Array.isArray(was)) return was.length === 0 ? 'an empty list' : 'a list';
  if (typeof was === 'object') return 'a mapping';
  const shown = JSON.stringify(was);
  return shown.length <= SHOWN_LENGTH ? shown : `${shown.slice(0, SHOWN_LENGTH)}…`;
}

/** Where a place begins in the text; where it is not there, or behind an alias, as near to it as there is something. */
function offsetOf(document: Document, path: readonly string[]): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const segment of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === segment);
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(segment)];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
