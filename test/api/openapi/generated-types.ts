/** Types that are made of an OpenAPI document by the command that docs/first-steps.md has, and a look into them. */
import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript-5';
import { onTestFinished } from 'vitest';
import { ROOT } from '../../support/processes.js';

const run = promisify(execFile);

/** An app's folder, with the packages that it needs. Removed with the test. */
export async function newApp(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'dgw-client-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

/** @param source address or path of a document. @param name of the file, in the folder */
export async function generateTypes(folder: string, source: string, name: string): Promise<void> {
  const cli = join(ROOT, 'node_modules/openapi-typescript/bin/cli.js');
  const hook = join(ROOT, 'test/api/openapi/typescript-5.mjs');
  await run(process.execPath, ['--import', hook, cli, source, '--output', name], { cwd: folder });
}

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // The types that were made are declarations, too.
  skipLibCheck: false,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
};

export interface Compiled {
  /** What the compiler says against each file of the folder that it has something against. */
  readonly faults: Readonly<Record<string, readonly string[]>>;
  readonly program: ts.Program;
}

/** Compiles files of a folder, JavaScript beside them. */
export function compile(folder: string, names: readonly string[]): Compiled {
  const program = ts.createProgram(
    names.map((name) => join(folder, name)),
    { ...OPTIONS, typeRoots: [join(ROOT, 'node_modules/@types')] },
  );
  const faults: Record<string, string[]> = {};
  // Not those of packages, of which there are many.
  const own = program.getSourceFiles().filter(({ fileName }) => dirname(fileName) === folder);
  for (const file of own) {
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    if (found.length > 0)
      faults[basename(file.fileName)] = found.map(({ messageText }) =>
        ts.flattenDiagnosticMessageText(messageText, '\n'),
      );
  }
  program.emit();
  return { faults, program };
}

/**
 * Places in what is sent and answered that nothing can be put into, or taken out of, though the document has content there.
 * @param name of the file that was generated
 */
export function neverIn({ program }: Compiled, name: string): string[] {
  const checker = program.getTypeChecker();
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(`/${name}`));
  const symbol = file && checker.getSymbolAtLocation(file);
  const operations = symbol?.exports?.get('operations' as ts.__String);
  if (operations === undefined) throw new Error(`${name} has no operations`);
  const found: string[] = [];
  const seen = new Set<ts.Type>();

  function walk(type: ts.Type, at: string): void {
    if (type.flags & ts.TypeFlags.Never) found.push(at);
    if (seen.has(type)) return;
    seen.add(type);
    if (type.isUnionOrIntersection()) for (const part of type.types) walk(part, at);
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return;
    for (const { type: value } of checker.getIndexInfosOfType(type)) walk(value, `${at}[]`);
    if (checker.isArrayType(type)) return;
    for (const property of type.getProperties())
      walk(checker.getTypeOfSymbol(property), `${at}.${property.name}`);
  }

  /** Of `content?: never` no more than `undefined` is left: there is none. */
  function walkContents(type: ts.Type, at: string): void {
    for (const property of checker.getNonNullableType(type).getProperties()) {
      const inner = checker.getTypeOfSymbol(property);
      const where = `${at}.${property.name}`;
      if (property.name === 'content') {
        if (!(inner.flags & ts.TypeFlags.Undefined)) walk(inner, where);
      } else if (inner.flags & ts.TypeFlags.Object || inner.isUnion()) walkContents(inner, where);
    }
  }

  walkContents(checker.getDeclaredTypeOfSymbol(operations), name);
  return found;
}
