/** Calls of an admin plane, and which there are. */
import type { FastifyInstance } from 'fastify';
import { ADMIN_TOKEN } from '../../support/start-gateway.js';

interface Answered {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** @param path below `/admin/v1/`. @param payload as it is sent, or what is sent as JSON */
export async function callAdmin(
  { admin }: { readonly admin: FastifyInstance },
  method: 'GET' | 'POST' | 'PATCH' | 'PUT',
  path: string,
  payload?: unknown,
): Promise<Answered> {
  const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
  const { statusCode, body } = await admin.inject({
    method,
    url: `/admin/v1/${path}`,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(payload === undefined ? {} : { payload: isText ? payload : JSON.stringify(payload) }),
  });
  return { status: statusCode, json: JSON.parse(body) as Answered['json'] };
}

/** E.g. `POST /admin/v1/teams/:id/keys`, as its own description lists them; a HEAD goes with its GET. */
export async function adminRoutes(admin: FastifyInstance): Promise<string[]> {
  const { paths } = (await admin.inject('/openapi.json')).json<{ paths: Record<string, object> }>();
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => method !== 'head')
      .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, ':$1')}`),
  );
}
