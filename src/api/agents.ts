/** `/mcp` of the data plane: its tools ask by the same calls as HTTP. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/load.js';
import { registerMcp } from '../mcp/route.js';
import { createSeenColumns } from '../mcp/seen-columns.js';
import { createSnapshots, type SnapshotsOptions } from '../mcp/snapshots.js';
import type { DescribedReports } from '../mcp/tool-call.js';
import type { Services } from '../services.js';
import { createShowMe } from './data/me.js';
import { readKeyHeaders } from './http/request-keys.js';

export function registerAgents(app: FastifyInstance, services: Services): void {
  const { config, reporting, gateway, limits, identify, store, clock, log, purges, erasures } = services;
  const { report, server } = config;
  registerMcp(app, {
    admit: reporting.admit,
    identify: (request) => identify(readKeyHeaders(request.raw), request.trace),
    allowedOrigins: server.corsOrigins,
    maxBodyBytes: server.maxBodyBytes,
    bench: {
      reports: reporting.gateway,
      table: reporting.table,
      report: gateway.report,
      showMe: createShowMe({ limits, usage: services.usage.recent, credential: services.outlook }),
      rules: {
        accountField: report.accountFields[0] as string,
        defaultEndpoint: Object.keys(report.endpoints)[0] ?? 'campaigns/get',
        maxUriBytes: server.maxUriBytes,
      },
      described: describedReports(config, [...reporting.canonical.table.kinds.keys()]),
      seenColumns: createSeenColumns({ documents: store.documents, logger: log.logger }),
      snapshots: createSnapshots({ store, clock, purges, isErasedSince: isErasedSince(erasures) }),
      caps: config.mcp,
    },
  });
}

/** A page may hold rows of anybody: it counts as what names no account. */
function isErasedSince({ isErased }: Services['erasures']): SnapshotsOptions['isErasedSince'] {
  return ({ seq, atMs }) => isErased({ seq, fetchedFrom: atMs, asked: [], held: [], rowCount: 1 });
}

function describedReports({ report }: Config, known: readonly string[]): DescribedReports {
  const { currentSeconds, restatingSeconds, finalSeconds } = report.freshness;
  const further = Object.values(report.endpoints).flatMap(({ knownParameters }) => knownParameters);
  return {
    endpoints: Object.keys(report.endpoints),
    parameters: [...new Set([...known, ...further])],
    freshness: `Today is asked for again after ${currentSeconds} s; a day of the last ${report.restatementDays} days after ${restatingSeconds} s; an older one after ${finalSeconds} s, for it is taken to be final.`,
  };
}
