/** The name under which rows of a day are sealed: under another one they are not read. It never changes. */
export function contentName(series: string, day: string): string {
  return `h1:{${series}}:${day}`;
}
