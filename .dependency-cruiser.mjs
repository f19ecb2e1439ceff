/**
 * Who may import whom. A room imports from the lines below its own, and from the rooms of its own line, without a circle of
 * files. What has a rule of its own is below.
 */

/** From the top to the bottom; a name is a folder of `src/`, or a file in it. */
const LINES = [
  ['cli'],
  ['server', 'api', 'gateway'],
  ['reports', 'teams'],
  ['platform'],
  ['store'],
  ['telemetry'],
  ['config'],
  ['lib', 'errors', 'outcome'],
];

/** Rooms that know less than their line allows. */
const NARROWER = {
  'reports/query': ['reports/rows', 'lib', 'errors'],
  'reports/rows': ['reports/query', 'lib', 'errors'],
  'api/operations': [
    'reports',
    'teams',
    'platform',
    'api/openapi',
    'store',
    'telemetry',
    'config',
    'lib',
    'errors',
    'outcome',
  ],
  'store/redis': ['store', 'telemetry', 'config', 'lib'],
  'store/embedded': ['store', 'telemetry', 'config', 'lib'],
  'lib/http': ['lib', 'errors'],
  simulator: ['lib'],
};
/** Imported by these alone. */
const ONLY_FOR = { simulator: ['cli'] };

const pathOf = (name) => `^src/${name}(/|\\.ts$)`;
const rooms = LINES.flat();
const below = (room) => LINES.slice(LINES.findIndex((line) => line.includes(room))).flat();

/** The rooms outside of the lines that this one may import. */
const usersOf = (room) => Object.keys(ONLY_FOR).filter((name) => ONLY_FOR[name].includes(room));

const knows = (name, from, known) => ({
  name: `${name}-knows`,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: [from, ...known.map(pathOf)] },
});
const knownOnlyTo = ([room, users]) => ({
  name: `only-for-${users.join('-and-')}`,
  severity: 'error',
  from: { path: '^src/', pathNot: [room, ...users].map(pathOf) },
  to: { path: pathOf(room) },
});

export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Types included.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-drawers',
      comment: 'A file for things that belong nowhere is where they get lost; a barrel hides who knows whom.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*(^|/)(index|utils?|common|helpers?|misc)\\.ts$' },
    },
    {
      name: 'no-async-context',
      comment:
        'On Node 20 one AsyncLocalStorage that was ever entered slows down every step of the process, see ADR 43; spans pay it where they are asked for.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(store/registry/durability|telemetry/otel/start-tracing)\\.ts$' },
      to: { path: '^(node:)?async_hooks$' },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/(cli|vite\\.config)\\.ts$' },
      to: {},
    },
    {
      name: 'production-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/vite\\.config\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    ...rooms.map((room) => knows(room, pathOf(room), [...below(room), ...usersOf(room)])),
    ...Object.entries(NARROWER).map(([room, known]) => knows(room.replace('/', '-'), `^src/${room}/`, known)),
    ...Object.entries(ONLY_FOR).map(knownOnlyTo),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Biome keeps the pages in their rooms: this parser reads no TSX.
    exclude: { path: '^src/web/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
    parser: 'swc',
  },
};
