/** An answer as HTTP: a body with its headers, or a 304 for who has it already. */
import type { ReportReply } from '../http/report-call.js';
import { cacheHeaders, isNotModified } from '../http/respond.js';
import { fileNameOf } from '../report/file-name.js';
import type { Answer } from './answer.js';
import type { Understood } from './understand.js';

export type Reply = (asked: Understood, answer: Answer) => Promise<ReportReply>;

export function createReply(now: () => number): Reply {
  return async (asked, answer) => {
    noteAnswer(asked, answer);
    // The caller has this very answer, in this coding (RFC 9110, section 13.1.2: for a 200 alone).
    const { status, tag, coding } = answer.shown;
    if (status === 200 && isNotModified(asked.ifNoneMatch, tag, coding))
      return { status: 304, headers: headersOf(asked, answer, now()), body: null };
    const finished = await answer.body();
    asked.context.trace.mark('render');
    return {
      status: finished.status,
      headers: {
        ...headersOf(asked, answer, now()),
        'content-type': finished.contentType,
        ...(finished.coding === 'identity' ? {} : { 'content-encoding': finished.coding }),
        ...savedAs(asked),
      },
      body: finished.body,
    };
  };
}

function headersOf({ meansUntilMs }: Understood, { shown, source }: Answer, nowMs: number) {
  return cacheHeaders({ ...shown, keep: source.storable, meansUntilMs }, shown.coding, source, nowMs);
}

/** A table is for a spreadsheet: a browser saves it under a name that tells what it is. */
function savedAs({ shape, question }: Understood): Readonly<Record<string, string>> {
  if (shape.format !== 'csv') return {};
  return { 'content-disposition': `attachment; filename="${fileNameOf(question.report, 'csv')}"` };
}

function noteAnswer({ context, totals }: Understood, { shown, source }: Answer): void {
  const { trace } = context;
  trace.outcome = source.outcome;
  trace.rows = shown.rowCount;
  trace.plainCalls = totals === null ? 1 : 2;
}
