/** Parses a file of teams. Faults have line, path and allowed values. */
import Type from 'typebox';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { faultsOf, type SchemaFault, valueAt } from '../../lib/faults.js';
import type { NewTeam } from '../auth/team.js';
import { listFaults, TeamList } from './team-faults.js';

export interface ParsedTeams {
  readonly teams: readonly NewTeam[];
  /** One line each, e.g. `config/teams.yaml:7: teams.0.id: was "A"; allowed is …`; if there are any, ignore `teams`. */
  readonly faults: readonly string[];
}

const TeamsFile = Type.Object({ teams: TeamList }, { additionalProperties: false });

/** @param source the file's name, for messages */
export function parseTeams(text: string, source: string): ParsedTeams {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const syntax = [...document.errors, ...document.warnings].map(
    ({ code, linePos }) => `${source}:${linePos?.[0].line ?? 1}: ${syntaxFault(code)}`,
  );
  if (syntax.length > 0) return { teams: [], faults: syntax };
  const value = toPlain(document);
  if (value === UNDEFINED_ALIAS) return { teams: [], faults: [`${source}: ${syntaxFault('BAD_ALIAS')}`] };
  const inOrder = (faults: readonly Fault[]) =>
    faults
      .map(({ path, message }) => ({
        line: lines.linePos(offsetOf(document, path)).line,
        words: `${path.join('.') || 'file'}: ${message}`,
      }))
      .sort((left, right) => left.line - right.line)
      .map(({ line, words }) => `${source}:${line}: ${words}`);
  const wrong = faultsOf(TeamsFile, value);
  if (wrong.length > 0) return { teams: [], faults: inOrder(wrong.map((fault) => describe(fault, value))) };
  const { teams } = value as { teams: NewTeam[] };
  const further = listFaults(teams).map(({ param, message }) => ({ path: param.split('.'), message }));
  return { teams, faults: inOrder(further) };
}

interface Fault {
  readonly path: readonly string[];
  readonly message: string;
}

/** By code, as the parser's messages quote the file. */
function syntaxFault(code: string): string {
  if (code === 'BAD_ALIAS') return 'undefined alias (*); quote text that starts with *: "*"';
  return `invalid YAML: ${code.toLowerCase().replaceAll('_', ' ')}`;
}

const UNDEFINED_ALIAS = Symbol('undefined alias');

function toPlain(document: Document): unknown {
  try {
    return document.toJS() ?? {};
  } catch {
    return UNDEFINED_ALIAS;
  }
}

function describe({ path, kind, allowed }: SchemaFault, value: unknown): Fault {
  const isKey = kind === 'unknown' && /^(api)?keys?$/i.test(path.at(-1) ?? '');
  const right = isKey ? 'no key; issue keys with: dsp-gateway keys issue <team>' : allowed;
  return {
    path,
    message: `was ${kind === 'unknown' ? 'set' : shown(valueAt(value, path))}; allowed is ${right}`,
  };
}

const SHOWN_LENGTH = 60;

/** Only a plain value is shown: a list or mapping may hold a secret. */
function shown(was: unknown): string {
  if (was === undefined) return 'not set';
  if (was === null) return 'nothing';
  if (Array.isArray(was)) return was.length === 0 ? 'an empty list' : 'a list';
  if (typeof was === 'object') return 'a mapping';
  const text = JSON.stringify(was);
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`;
}

/** Offset of a path in the text; if it is missing or an alias, of its nearest ancestor. */
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
