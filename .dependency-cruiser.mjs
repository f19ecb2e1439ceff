/**
 * Who may know whom. A room imports from rooms below its own line alone, and of those only what `KNOWS` names: so no
 * arrow goes upward, and there is no circle of rooms.
 */

/** From the bottom to the top. `errors`, `clock` and the like are files in `src/`. */
const LAYERS = [
  ['errors', 'clock', 'cache-control', 'record', 'outcome', 'version'],
  ['report', 'config', 'store', 'simulator'],
  ['platform'],
  ['telemetry'],
  ['registry'],
  ['credential', 'cache', 'divisibility'],
  ['auth', 'workers'],
  ['limits', 'policy', 'usage'],
  ['declared'],
  ['http'],
  ['pipeline', 'pass-through', 'routes'],
  ['gateway', 'health', 'admin'],
  ['engine'],
  ['services'],
  ['planes'],
  ['serve'],
  ['demo'],
  ['commands'],
  ['cli'],
];

/** Room to the rooms (or files) it may import, beside itself. One that is not named here may import nothing. */
const KNOWS = {
  report: ['errors'],
  store: ['clock'],
  simulator: ['clock'],
  config: ['errors'],
  platform: ['config', 'cache-control', 'record', 'errors', 'clock'],
  telemetry: ['platform', 'outcome', 'record', 'errors', 'clock'],
  registry: ['store', 'telemetry', 'record', 'clock'],
  workers: ['cache', 'platform', 'report'],
  credential: ['config', 'registry', 'store', 'telemetry', 'platform', 'record', 'errors', 'clock'],
  cache: ['registry', 'report', 'store', 'record', 'errors', 'clock'],
  divisibility: ['config', 'registry', 'report', 'record', 'errors', 'clock'],
  auth: ['credential', 'registry', 'store', 'record', 'errors', 'clock'],
  limits: ['auth', 'store', 'platform', 'errors', 'clock'],
  policy: ['auth', 'report', 'errors'],
  declared: ['auth', 'policy', 'registry', 'store', 'telemetry', 'errors', 'clock'],
  usage: ['report', 'store', 'telemetry', 'outcome', 'clock'],
  http: ['auth', 'limits', 'report', 'telemetry', 'cache-control', 'outcome', 'errors'],
  pipeline: [
    'workers',
    'auth',
    'divisibility',
    'cache',
    'config',
    'http',
    'limits',
    'platform',
    'policy',
    'registry',
    'report',
    'store',
    'telemetry',
    'outcome',
    'record',
    'errors',
    'clock',
  ],
  'pass-through': [
    'auth',
    'config',
    'http',
    'limits',
    'platform',
    'policy',
    'report',
    'store',
    'telemetry',
    'outcome',
    'errors',
    'clock',
  ],
  routes: ['auth', 'config', 'http', 'limits', 'platform', 'policy', 'report', 'telemetry', 'errors'],
  admin: [
    'auth',
    'cache',
    'config',
    'credential',
    'declared',
    'http',
    'policy',
    'registry',
    'report',
    'routes',
    'store',
    'telemetry',
    'record',
    'errors',
    'clock',
    'usage',
    'version',
    'pipeline',
  ],
  planes: ['admin', 'http', 'pass-through', 'routes', 'services', 'config', 'usage', 'version'],
  serve: [
    'planes',
    'services',
    'config',
    'credential',
    'declared',
    'routes',
    'store',
    'telemetry',
    'record',
    'errors',
    'clock',
  ],
  demo: ['config', 'serve', 'simulator'],
  commands: [
    'auth',
    'errors',
    'report',
    'pipeline',
    'config',
    'credential',
    'declared',
    'demo',
    'serve',
    'simulator',
    'store',
    'telemetry',
    'usage',
    'version',
  ],
};

const rooms = Object.keys(KNOWS);
const layerOf = (name) => LAYERS.findIndex((layer) => layer.includes(name));
for (const [room, known] of Object.entries(KNOWS)) {
  const upward = known.filter((name) => layerOf(name) === -1 || layerOf(name) >= layerOf(room));
  if (layerOf(room) === -1 || upward.length > 0)
    throw new Error(
      `.dependency-cruiser.mjs: ${room} may not know ${upward.join(', ')}, which lies no lower`,
    );
}
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
      name: 'planes-are-the-root',
      severity: 'error',
      from: { pathNot: '^src/(planes|serve)/' },
      to: { path: '^src/planes/' },
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
      from: { pathNot: '^src/(planes|serve)/' },
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
