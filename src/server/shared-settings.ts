/** Settings that all processes of one store must share: each of them shapes what is stored, or what is taken as final. */
import { createHash } from 'node:crypto';
import Type from 'typebox';
import type { Config } from '../config/load.js';
import { recordForm } from '../lib/record.js';

/** Characters of a hash: it tells values apart, and gives none away. */
const LENGTH = 8;

/** As a process reports its own; of another release it may have others, or none. */
const Told = recordForm(Type.Object({ settings: Type.Record(Type.String(), Type.String()) }));

/** @param others what the other processes of the store report; a setting that one of them does not report is not compared */
export function sharedSettings(
  { platform, report }: Pick<Config, 'platform' | 'report'>,
  others: () => readonly { readonly info: string }[],
) {
  const { account, timezone, timezones, retentionDays } = platform;
  const baseUrl = new URL(platform.baseUrl).href;
  const values: Readonly<Record<string, unknown>> = {
    ...under('platform', { account, baseUrl, timezone, timezones, retentionDays }),
    // Of this list alone the order counts: the first is the default.
    ...under('report', { ...report, accountFields: report.accountFields.join() }),
  };
  const hashes = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, hashOf(value)]));
  return {
    /** To be reported to the others as `settings`. */
    hashes,
    /** Names of those that another process has otherwise, sorted. */
    apart(): readonly string[] {
      const theirs = others().flatMap(({ info }) => Object.entries(Told.parse(info)?.settings ?? {}));
      const differing = theirs.filter(([name, hash]) => Object.hasOwn(hashes, name) && hash !== hashes[name]);
      return [...new Set(differing.map(([name]) => name))].sort();
    },
  };
}

const under = (section: string, settings: object) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [`${section}.${name}`, value]));

/** Members in the order of their names, lists sorted: a file may have them in any. */
function hashOf(value: unknown): string {
  const text = JSON.stringify(value, (_, member: unknown) => {
    if (Array.isArray(member)) return member.toSorted();
    return typeof member === 'object' && member !== null
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member;
  });
  return createHash('sha256')
    .update(text ?? '')
    .digest('base64url')
    .slice(0, LENGTH);
}
