// A service for the tests, and how its page is asked. Environment: ELLICE.
import { spawn } from 'node:child_process';

const { ELLICE } = process.env;

/** A service on a port; 0 lets the system choose. */
export const serve = (port, ...options) => served('--demo', '--port', String(port), ...options);

export async function served(...args) {
  const child = spawn(ELLICE, ['serve', ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  const address = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (data) => {
      said += data;
      const found = /http:\/\/[^/]*:(\d+)\//.exec(said);
      if (found) resolve({ port: Number(found[1]), url: `http://127.0.0.1:${found[1]}/` });
    });
    child.on('exit', (status) => reject(new Error(`ended with ${status}: ${said}`)));
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return { ...address, hangUp: () => child.kill('SIGHUP'), stop: () => { child.kill('SIGTERM'); return ended; } };
}

export const find = async (page) => {
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.locator('.proof').first().waitFor();
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
};
export const entry = (page, label) => page.getByLabel(label, { exact: true });
