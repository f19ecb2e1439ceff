/** What a team is called in each of its lives: one that was deleted and made anew under the same id is another team. */

/** What is kept of a team has this name. In the first life it is the id alone, as before lives were told apart. */
export function nameInLife(teamId: string, life = 0): string {
  return life === 0 ? teamId : `${teamId}:${life}`;
}

/** The id of the team that a name of {@link nameInLife} is of. */
export function teamOfName(name: string): string {
  return name.split(':', 1)[0] as string;
}
