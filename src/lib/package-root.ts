/** Where the package lies: the program is looked for beside it, wherever the build puts the lines that look. */
import { existsSync } from 'node:fs';

/** The folder of package.json, with `dist/` and `docs/` in it; ends with a slash. */
export const PACKAGE_ROOT: URL = above(new URL('../', import.meta.url));

function above(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error(`no package.json above ${import.meta.url}`);
  return above(parent);
}
