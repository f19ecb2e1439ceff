/** Who may know whom. A room that is not named in `KNOWS` may import nothing outside of itself. */

/** Room to the rooms (or files) it may import, beside itself. `errors`, `clock` and the like are files in `src/`. */
const KNOWS = {
  report: ['errors'],
  store: ['clock'],
  simulator: ['clock'],
  registry: ['store', 'clock'],
  config: ['errors'],
  auth: ['registry', 'store', 'credential', 'errors'],
  credential: ['config', 'registry', 'store', 'telemetry', 'platform', 'errors', 'clock'],
  platform: ['config', 'errors', 'clock'],
  cache: ['registry', 'store', 'errors', 'clock'],
  policy: ['auth', 'report', 'errors'],
  telemetry: ['platform', 'outcome', 'errors', 'clock'],
  http: ['auth', 'report', 'telemetry', 'outcome', 'errors'],
  workers: ['cache', 'platform', 'report'],
  stages: [
    'workers',
    'auth',
    'cache',
    'config',
    'http',
    'platform',
    'policy',
    'registry',
    'report',
    'telemetry',
    'outcome',
    'errors',
    'clock',
  ],
  routes: ['auth', 'config', 'http', 'platform', 'policy', 'report', 'stages', 'telemetry', 'errors'],
  admin: [
    'auth',
    'cache',
    'config',
    'credential',
    'http',
    'policy',
    'registry',
    'report',
    'routes',
    'store',
    'telemetry',
    'errors',
    'clock',
    'version',
    'stages',
  ],
  serve: ['app', 'services', 'config', 'credential', 'routes', 'store', 'telemetry', 'errors', 'clock'],
  demo: ['config', 'serve', 'simulator'],
  commands: ['errors', 'stages', 'config', 'credential', 'demo', 'serve', 'simulator', 'store'],
};

const rooms = Object.keys(KNOWS);
const pathOf = (name) => (rooms.includes(name) ? `^src/${name}/` : `^src/${name}\\.ts$`);

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-drawers',
      comment: 'A file for things that belong nowhere is where they get lost; a barrel hides who knows whom.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*(^|/)(index|utils?|common|helpers?|misc)\\.ts$' },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/cli\\.ts$' },
      to: {},
    },
    {
      name: 'production-only',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'app-is-the-root',
      severity: 'error',
      from: { pathNot: '^src/serve/' },
      to: { path: '^src/app\\.ts$' },
    },
    {
      name: 'gateway-is-composed-once',
      severity: 'error',
      from: { pathNot: '^src/(engine|services)\\.ts$' },
      to: { path: '^src/(gateway|engine)\\.ts$' },
    },
    {
      name: 'services-are-composed-once',
      severity: 'error',
      from: { pathNot: '^src/(app\\.ts|serve/)' },
      to: { path: '^src/services\\.ts$' },
    },
    ...rooms.map((room) => ({
      name: `${room}-knows`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: [`^src/${room}/`, ...KNOWS[room].map(pathOf)] },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
    parser: 'swc',
  },
};
