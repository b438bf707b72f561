// Chromium for the tests, and what every page must do: no error, no violation of its policy, no foreign address.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export async function browser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A page that fails the test at the first error; `expected` are messages that belong to it. */
export async function open(chrome, url, options = {}, expected = /^$/) {
  const context = await chrome.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000); // machines may be busy; no test is about time
  const faults = [];
  page.on('console', (message) => { if (message.type() === 'error' && !expected.test(message.text())) faults.push(message.text()); });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('dialog', (dialog) => { faults.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on('request', (request) => {
    const own = new URL(url);
    const asked = new URL(request.url());
    if (asked.protocol !== 'blob:' && asked.protocol !== 'data:' && (asked.protocol !== own.protocol || asked.host !== own.host)) faults.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector('main');
  return { page, context, faults, done: async () => { assert.deepEqual(faults, []); await context.close(); } };
}

/** Findings of axe-core; evaluated, since the policy allows no further script on the page. */
export async function findings(page) {
  await page.evaluate(`{ const module = undefined, exports = undefined, define = undefined; ${axe} }`);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(', ')}`);
}

/** Moves a slider as a hand does: by the mouse, from its thumb to a share of its width. */
export async function drag(page, slider, from, to) {
  await slider.scrollIntoViewIfNeeded();
  const box = await slider.boundingBox();
  const x = (share) => box.x + 8 + (box.width - 16) * share, y = box.y + box.height / 2;
  await page.mouse.move(x(from), y);
  await page.mouse.down();
  for (let i = 1; i <= 12; i++) await page.mouse.move(x(from + ((to - from) * i) / 12), y);
  await page.mouse.up();
}

/** What the main thread did for each frame while `work` went on, by Chromium's tracing: milliseconds of processor time
 * from one commit of a frame to the next, sorted. Time of the clock says little on a machine that others use, too. */
export async function traced(context, page, work) {
  const session = await context.newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] } });
  await work();
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await complete;
  const commits = events.filter((one) => one.name === 'Commit').sort((a, b) => a.ts - b.ts);
  const tasks = events.filter((one) => one.name === 'RunTask' && one.pid === commits[0]?.pid && one.tid === commits[0].tid);
  return commits.slice(1).map(({ ts }, i) => {
    const between = tasks.filter((task) => task.ts + task.dur > commits[i].ts && task.ts + task.dur <= ts + commits[i + 1].dur);
    return between.reduce((sum, task) => sum + (task.tdur ?? task.dur) / 1000, 0);
  }).sort((a, b) => a - b);
}
