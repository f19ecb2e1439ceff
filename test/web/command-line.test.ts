/** `dsp-gateway login` with a real Chromium, which alone shows what becomes of the cookies and of the way back. */
import { expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.js';
import { tempFolder } from '../support/processes.js';
import { fillInForms, openCompany, visitCompany } from './company.js';

/** The command, whose address the test opens in the browser. */
async function login() {
  const company = await openCompany();
  const env = { HOME: await tempFolder(), GATEWAY_ADMIN_URL: company.console.replace(/\/$/, '') };
  let browse: (url: string) => void = () => {};
  const address = new Promise<string>((resolve) => {
    browse = resolve;
  });
  const ended = runCli(['login'], env, '', { browse: (url) => browse(url) });
  const seen = await visitCompany(await address);
  const run = (...args: string[]) => runCli(args, env);
  return { ...company, ...seen, seen, ended, run };
}

const QUESTION = 'Let the command line act as you?';

it('a person signs in, says yes to the command, and the command acts as the person', async () => {
  const { page, seen, ended, run } = await login();
  await fillInForms(page, 'vera');
  await page.getByRole('heading', { name: QUESTION }).waitFor();
  await page.getByText(/asks to act as Vera Viewer, with the role viewer/).waitFor();
  await seen.shots('sign-in-command-line');
  await page.getByRole('button', { name: 'Yes, let it act as me' }).click();
  await page.getByRole('heading', { name: 'Go back to your terminal.' }).waitFor();
  const { code, stdout, stderr } = await ended;
  expect([code, stderr.match(/code [A-Z]{2}-\d\d/)?.length]).toEqual([0, 1]);
  expect(stdout).toContain('Vera Viewer');
  expect((await run('whoami')).stdout).toMatch(/Vera Viewer\s+role +viewer/);
  expect((await run('teams', 'create', 'made')).code).toBe(77);
});

it('a person who is signed in to the console already is asked at once, and may say no', async () => {
  const { page, seen, ended, run, console } = await login();
  await fillInForms(page, 'vera');
  await page.getByRole('heading', { name: QUESTION }).waitFor();
  await page.getByRole('link', { name: 'No' }).click();
  await page.getByRole('heading', { name: 'Nothing was done.' }).waitFor();
  expect(await ended).toMatchObject({ code: 77, stderr: expect.stringContaining('you said no') });
  expect((await run('whoami')).code).toBe(77);
  // The next command, without another sign-in.
  const address = new Promise<string>((resolve) => {
    void runCli(['login', '--url', console.replace(/\/$/, '')], {}, '', { browse: resolve });
  });
  await page.goto(await address);
  await page.getByRole('heading', { name: QUESTION }).waitFor();
  await page.getByRole('link', { name: 'No' }).click();
  await page.getByRole('heading', { name: 'Nothing was done.' }).waitFor();
  seen.forgive();
});
