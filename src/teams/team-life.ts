/** The name of a team in each of its lives: a team deleted and created again under the same id is another team. */

/** Key of a team's stored data. In the first life it is the plain id, as in older releases. */
export function nameInLife(teamId: string, life = 0): string {
  return life === 0 ? teamId : `${teamId}:${life}`;
}

/** Reverses {@link nameInLife}. */
export function teamOfName(name: string): string {
  return name.split(':', 1)[0] as string;
}
