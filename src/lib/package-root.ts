/** Location, version and build of the package, independent of the build layout. */
import { existsSync, readFileSync } from 'node:fs';

/** The folder of package.json, with `dist/` and `docs/` in it; ends with a slash. */
export const PACKAGE_ROOT: URL = above(new URL('../', import.meta.url));

function above(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error(`no package.json above ${import.meta.url}`);
  return above(parent);
}

const manifest = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as {
  readonly version: string;
  /** npm adds it when it packs. */
  readonly gitHead?: string;
};

export const VERSION: string = manifest.version;

/** As the build wrote it, below the root. */
const COMMIT_FILE = 'dist/commit';

/** `version`, and `commit` of the build if that is known. */
export const BUILD: { readonly version: string; readonly commit?: string } = {
  version: VERSION,
  ...commit(),
};

function commit(): { readonly commit?: string } {
  const file = new URL(COMMIT_FILE, PACKAGE_ROOT);
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : manifest.gitHead?.slice(0, 12);
  return found === undefined || found === '' ? {} : { commit: found };
}
