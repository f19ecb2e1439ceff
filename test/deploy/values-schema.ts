/** The parts of the chart's values schema that follow from the gateway's own settings. */
import { ConfigSchema } from '../../src/config/schema.js';
import { listSettings, type SchemaNode } from '../../src/config/settings.js';

/**
 * What the chart decides itself: the ports of its containers, where the admin plane listens, the volume's path.
 * The test clock is refused in production, which the image is.
 */
const SET_BY_CHART = [
  'server.port',
  'server.adminHost',
  'server.adminPort',
  'server.metricsPort',
  'store.dataDir',
  'testClock',
];

type Json = Readonly<Record<string, unknown>>;
type Node = SchemaNode & Json & { readonly required?: readonly string[] };

/** `properties.config`: the settings without secrets and without what the chart sets; defaults are the gateway's. */
export function configSchema(): Json {
  return groupSchema(ConfigSchema as unknown as Node, '');
}

/** Where a secret is; whole at each place, for a `$ref` of this draft shuts out the description beside it. */
const SECRET: Json = {
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'An existing Secret of the namespace.' },
    key: { $ref: '#/definitions/key' },
  },
};

/** `properties.secrets`: every secret by its environment name. */
export function secretsSchema(): Json {
  const names = listSettings().filter(({ secret }) => secret === true);
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      names.map(({ env, schema }) => [env, { type: 'object', description: schema.description, ...SECRET }]),
    ),
    patternProperties: {
      '^ADMIN_TOKEN_[A-Z0-9_]+$': {
        type: 'object',
        description:
          'A token of config.auth.adminTokens, whose tokenFile is /run/secrets/dsp-gateway/ and this name.',
        ...SECRET,
      },
    },
  };
}

function groupSchema(node: Node, path: string): Json {
  const children = Object.entries(node.properties ?? {}).flatMap(([name, child]): [string, Json][] => {
    const at = path === '' ? name : `${path}.${name}`;
    if (child.secret === true || SET_BY_CHART.includes(at)) return [];
    const schema = isGroup(child as Node) ? groupSchema(child as Node, at) : valueSchema(child as Node);
    const empty = isGroup(child as Node) && Object.keys(schema.properties as Json).length === 0;
    return empty ? [] : [[name, schema]];
  });
  const required = (node.required ?? []).filter((name) => {
    const child = children.find(([known]) => known === name)?.[1];
    return child !== undefined && (child.required !== undefined || !('default' in child || isGroup(child)));
  });
  return {
    type: 'object',
    ...(node.description === undefined ? {} : { description: node.description }),
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
    properties: Object.fromEntries(children),
  };
}

function isGroup(node: Json): boolean {
  return node.type === 'object' && node.properties !== undefined;
}

/** A setting's own schema: what is not JSON Schema goes, members with a default need not be given. */
function valueSchema(node: Node): Json {
  const {
    env: _env,
    secret: _secret,
    shownDefault: _shown,
    allowed: _allowed,
    required,
    properties,
    ...schema
  } = node;
  const { items, patternProperties } = schema;
  const needed = required?.filter((name) => !('default' in (properties?.[name] ?? {}))) ?? [];
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: mapValues(properties) }),
    ...(needed.length > 0 ? { required: needed } : {}),
    ...(items === undefined ? {} : { items: valueSchema(items as Node) }),
    ...(patternProperties === undefined
      ? {}
      : { patternProperties: mapValues(patternProperties), additionalProperties: false }),
  };
}

function mapValues(nodes: Readonly<Record<string, SchemaNode>>): Json {
  return Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, valueSchema(node as Node)]));
}
