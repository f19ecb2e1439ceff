/** The routes of an admin plane, as its own description lists them. */
import type { FastifyInstance } from 'fastify';

/** E.g. `POST /admin/v1/teams/:id/keys`; a HEAD goes with its GET. */
export async function adminRoutes(admin: FastifyInstance): Promise<string[]> {
  const { paths } = (await admin.inject('/openapi.json')).json<{ paths: Record<string, object> }>();
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => method !== 'head')
      .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, ':$1')}`),
  );
}
