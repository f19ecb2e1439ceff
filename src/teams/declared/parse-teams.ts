/** From the text of a file of teams to teams, or to faults that name the line, the place and what is allowed. */

import Type, { type TSchema } from 'typebox';
import Value from 'typebox/value';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { NewTeam } from '../auth/team.js';
import { allowedAt } from './allowed.js';
import { listFaults, MAX_TEAMS } from './team-list.js';

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
