/** Location and version of the package, independent of the build layout. */
import { existsSync, readFileSync } from 'node:fs';

/** The folder of package.json, with `dist/` and `docs/` in it; ends with a slash. */
export const PACKAGE_ROOT: URL = above(new URL('../', import.meta.url));

function above(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error(`no package.json above ${import.meta.url}`);
  return above(parent);
}

export const VERSION: string = (
  JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }
).version;
