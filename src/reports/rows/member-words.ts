/** Names of members that tell where the rows of an answer are, and where they are not. */

export const PREFERRED: readonly string[] = [
  'data',
  'rows',
  'items',
  'results',
  'records',
  'list',
  'report',
  'reports',
  'campaigns',
];
export const SINGLE_ROW: readonly string[] = ['data', 'result', 'report'];
/** Members that tell of the call or the page, never of the report. */
export const ABOUT_THE_CALL: ReadonlySet<string> = new Set(
  'message messages error errors warning warnings status code success ok links'.split(' '),
);
/** Lists that describe a report, or tell where an error came from: they hold objects, and never rows. */
export const NEVER_ROWS: ReadonlySet<string> = new Set(
  'columns fields headers header schema dimensions metrics measures filters sorts trace stack exceptions debug'.split(
    ' ',
  ),
);
