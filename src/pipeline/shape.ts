/** The form of an answer: what the options of a call come to, in the format that it gets. */
import { invalidQuery } from '../errors.js';
import type { Coding } from '../http/negotiate.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Format, OutputOptions } from '../report/output-options.js';

/** What decides about a body, beside the report itself. */
export interface Shape {
  readonly format: Format;
  readonly totals: boolean;
  readonly days: boolean;
  readonly bom: boolean;
  /** The columns that are wanted, in order; null: all. */
  readonly fields: readonly string[] | null;
}

/** Identity of a finished body among those kept in this process. */
export function finishedKey(series: string, report: CanonicalReport, shape: Shape, coding: Coding): string {
  const flags = `${shape.totals ? 't' : ''}${shape.days ? 'd' : ''}${shape.bom ? 'b' : ''}`;
  const fields = shape.fields === null ? '' : encodeURIComponent(JSON.stringify(shape.fields));
  return `${series}|${report.from.iso ?? ''}|${report.to.iso ?? ''}|${shape.format}|${flags}|${fields}|${coding}`;
}

/** `_totals`, `_days` and `_bom` change one format each; elsewhere they would silently do nothing. */
export function shapeOf(format: Format, options: OutputOptions): Shape {
  const faults = [
    ...(options.totals && format !== 'json'
      ? [{ param: '_totals', message: 'goes with _format=json only' }]
      : []),
    ...(options.days && format !== 'json'
      ? [{ param: '_days', message: 'goes with _format=json only' }]
      : []),
    ...(options.fields !== null && format === 'raw'
      ? [
          {
            param: '_fields',
            message: "goes with rows, not with the platform's own bytes: leave out _format=raw",
          },
        ]
      : []),
    ...(options.bom && format !== 'csv' ? [{ param: '_bom', message: 'goes with _format=csv only' }] : []),
  ];
  if (faults.length > 0) throw invalidQuery(...faults);
  const { totals, days, bom, fields } = options;
  return { format, totals, days, bom, fields };
}
