/** What a person does before anything else. */
import { type Look, type Visit, visit } from '../support/browser.js';

/** @param label of the field that asks for the secret: `Admin token`, `Team key` */
export async function signedIn(url: string, label: string, secret: string, look?: Look): Promise<Visit> {
  const seen = await visit(url, look);
  await seen.page.getByLabel(label).fill(secret);
  await seen.page.getByRole('button', { name: 'Sign in' }).click();
  await seen.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return seen;
}
